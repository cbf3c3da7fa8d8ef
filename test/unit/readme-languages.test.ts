import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { blocksIn } from "../support/page-examples.ts";

const root = resolve(import.meta.dir, "../..");
const english = readFileSync(`${root}/README.md`, "utf8");
const chinese = readFileSync(`${root}/README.zh-CN.md`, "utf8");

/** Comments are translated, commands are not. */
const commandsOf = (page: string) =>
  blocksIn(page).map(({ language, text }) => [language, text.replaceAll(/ +#.*$/gm, "")]);
/** Links within the text, without those from one language to the other. */
const linksOf = (page: string) =>
  [...page.matchAll(/\]\(([^)]+)\)/g)]
    .map(([, target]) => target)
    .filter((target) => !target?.startsWith("README"));
const depthsOf = (page: string) => [...page.matchAll(/^(#+) /gm)].map(([, depth]) => depth);
const rowsOf = (page: string) => page.match(/^\|/gm)?.length;

test("README.zh-CN.md has the headings, commands, links and rows of README.md", () => {
  expect(depthsOf(chinese)).toEqual(depthsOf(english));
  expect(commandsOf(chinese)).toEqual(commandsOf(english));
  expect(linksOf(chinese)).toEqual(linksOf(english));
  expect(rowsOf(chinese)).toBe(rowsOf(english));
});

test("each links to the other", () => {
  expect(english).toContain("[中文](README.zh-CN.md)");
  expect(chinese).toContain("[English](README.md)");
});
