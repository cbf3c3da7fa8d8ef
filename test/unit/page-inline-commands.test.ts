import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import { Command } from "commander";
import { scripts } from "../../package.json";
import { addAllCommands } from "../../src/cli/all-commands.ts";
import { blocksIn } from "../support/page-examples.ts";

const root = resolve(import.meta.dir, "../..");
const pages = ["*.md", "{docs,client,clients,examples,deploy}/**/*.md"].flatMap((pattern) => [
  ...new Glob(pattern).scanSync(root),
]);

const program = new Command("slipway");
addAllCommands(program);

/** What is wrong with a command line, by the commands and options that the program has; null: nothing. */
function faultOf(line: string): string | null {
  const words = line
    .replace(/^(?:\S*\/)?slipway +/, "")
    .replace(/ [#>|&].*$/, "")
    .split(/\s+/);
  let command = program;
  for (const word of words) {
    const below = command.commands.find((each) => each.name() === word);
    if (below) command = below;
    else break;
  }
  if (command === program) return `there is no command ${words[0]}`;
  const known = (word: string) => command.options.some(({ long, short }) => long === word || short === word);
  const wrong = words.find((word) => /^--?[a-z]/.test(word) && !known(word.replace(/=.*/, "")));
  return wrong === undefined ? null : `\`${command.name()}\` has no option ${wrong}`;
}

/** Every command line of the program in a text or an example, with the lines that continue it. */
function commandLines(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  const inline = [...text.matchAll(/`((?:bin\/)?slipway [a-z][^`\n]*)`/g)].map(([, line = ""]) => line);
  const inBlocks = blocksIn(text)
    .filter(({ language }) => language === "sh")
    .flatMap(({ text: code }) => code.replaceAll("\\\n", " ").split("\n"))
    .filter((line) => /^(?:\S*bin\/)?slipway [a-z]/.test(line));
  return [...inline, ...inBlocks];
}

test("the check knows the commands and their options", () => {
  expect(faultOf("slipway hook list --project 7 --status ignored # what arrived")).toBe(null);
  expect(faultOf("bin/slipway logs -f 1")).toBe(null);
  expect(faultOf("slipway push --push-verify-uri http://127.0.0.1/verify")).toBe(null);
  expect(faultOf("slipway hooks list")).toBe("there is no command hooks");
  expect(faultOf("slipway task show 42 --follow")).toBe("`show` has no option --follow");
});

test("every command line on the pages is one of the program", () => {
  const lines = pages.flatMap((page) => commandLines(page).map((line) => ({ page, line })));
  expect(lines.length).toBeGreaterThan(40);
  const wrong = lines.flatMap(({ page, line }) => {
    const fault = faultOf(line);
    return fault === null ? [] : [`${page}: ${line}: ${fault}`];
  });
  expect(wrong).toEqual([]);
});

test("every npm script on the pages is one of package.json", () => {
  for (const page of pages)
    for (const [, name = ""] of readFileSync(join(root, page), "utf8").matchAll(/\bnpm run ([\w:]+)/g))
      expect([page, name, name in scripts]).toEqual([page, name, true]);
});
