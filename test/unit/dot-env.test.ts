import { expect, test } from "bun:test";
import { readDotEnv } from "../../console/dot-env.ts";

const read = (text: string) =>
  Object.fromEntries(readDotEnv(text).variables.map(({ name, value }) => [name, value]));

test("a .env file is read with comments, export, quotes, escapes and line breaks", () => {
  const file = [
    "# a comment",
    "",
    "NODE_ENV=production",
    "export PORT = 8080   # the port",
    "EMPTY=",
    "URL=https://example.com/#part",
    "SINGLE='a $b \\n c' # comment",
    'DOUBLE="a \\"quoted\\" text\\nsecond line" # comment',
    'KEY="-----BEGIN KEY-----',
    "abc=",
    '-----END KEY-----"',
    'TICKS=`it\'s "both"`',
    "NODE_ENV=staging",
  ].join("\r\n");
  expect(read(`\uFEFF${file}`)).toEqual({
    NODE_ENV: "staging",
    PORT: "8080",
    EMPTY: "",
    URL: "https://example.com/#part",
    SINGLE: "a $b \\n c",
    DOUBLE: 'a "quoted" text\nsecond line',
    KEY: "-----BEGIN KEY-----\nabc=\n-----END KEY-----",
    TICKS: 'it\'s "both"',
  });
  expect(readDotEnv(file).unreadLines).toEqual([]);
});

test("lines that are no variable are named by their numbers, and the others are read", () => {
  const { variables, unreadLines } = readDotEnv('A=1\nnot a variable\n1ST=x\nB="no end\nC=3\n\nD="x" y\n');
  expect(variables).toEqual([
    { name: "A", value: "1" },
    { name: "C", value: "3" },
  ]);
  expect(unreadLines).toEqual([2, 3, 4, 7]);
});

test("a large file with an open quote is read in a moment", () => {
  const file = `A="open\n${"B=1\n".repeat(50_000)}`;
  expect(readDotEnv(file)).toEqual({ variables: [{ name: "B", value: "1" }], unreadLines: [1] });
});
