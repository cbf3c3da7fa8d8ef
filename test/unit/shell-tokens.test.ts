import { expect, test } from "bun:test";
import { shellTokens } from "../../console/shell-tokens.ts";

const kinds = (script: string) =>
  shellTokens(script)
    .filter(({ kind }) => kind !== "plain")
    .map(({ kind, text }) => `${kind} ${text}`);

test("comments, strings, variables, keywords, options and operators get their kind", () => {
  expect(kinds("# start\nif [ -n \"$A b\" ]; then\n  cp -r 'x y' $B # end\nfi")).toEqual([
    "comment # start",
    "keyword if",
    "option -n",
    'string "',
    "variable $A",
    'string  b"',
    "operator ;",
    "keyword then",
    "option -r",
    "string 'x y'",
    "variable $B",
    "comment # end",
    "keyword fi",
  ]);
  expect(kinds("curl https://example.com/#part | sh && echo done-it")).toEqual(["operator |", "operator &&"]);
  expect(kinds("TOKEN=abc npm ci")).toEqual(["variable TOKEN"]);
});

test("the tokens are the script, whatever it contains, and each has its own place", () => {
  const scripts = [
    'echo "open',
    "echo 'open",
    "a\\",

    "$",

    "<<EOF\n$(x)\nEOF",
    "é 漢 \u{1F680} #x",
    '"a\\$b"',
  ];
  for (const script of [...scripts, scripts.join("\n"), "x".repeat(60_000)]) {
    const tokens = shellTokens(script);
    expect(tokens.map(({ text }) => text).join("")).toBe(script);
    expect(new Set(tokens.map(({ at }) => at)).size).toBe(tokens.length);
  }
});
