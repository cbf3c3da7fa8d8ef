import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Glob } from "bun";

const root = resolve(import.meta.dir, "../..");
/** Not the change log, whose groups of items have one word as heading. */
const pages = ["*.md", "{docs,client,deploy}/**/*.md"]
  .flatMap((pattern) => [...new Glob(pattern).scanSync(root)])
  .filter((page) => page !== "CHANGELOG.md");

const isItem = (line: string) => /^\s*([-*+]|\d{1,3}[.)])\s+\S/.test(line);
const isRow = (line: string) => /^\s*\|/.test(line);
const isHeading = (line: string) => /^#{1,6} /.test(line);
const isComment = (line: string) => /^\s*<!--.*-->$/.test(line);
/** The mark of the next item ended up in the line before it: `… the rule. 4.` or `… the body. -` */
const endsWithMark = (line: string) => /[.:;,)]\s+(\d{1,2}[.)]|[-*+])$/.test(line);

/** Lists and tables that a reader sees as part of the paragraph before or after them. */
function stuckLines(text: string): number[] {
  const lines = text
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, (code) => code.replaceAll(/[^\n]/g, ""))
    .split("\n");
  let block: "none" | "text" | "list" | "table" = "none";
  return lines.flatMap((line, index) => {
    const before = block;
    if (line.trim() === "" || isHeading(line) || isComment(line)) block = "none";
    else if (isRow(line)) block = "table";
    else if (isItem(line)) block = "list";
    else if (before === "none" || before === "table") block = "text";
    const isStuck =
      (block === "list" && (before === "text" || before === "table")) ||
      (block === "table" && (before === "text" || before === "list")) ||
      (block === "text" && before === "table") ||
      endsWithMark(line);
    return isStuck ? [index + 1] : [];
  });
}

test("the check finds a list or a table that is stuck to a paragraph", () => {
  expect(stuckLines("a text:\n- one\n- two")).toEqual([2]);
  expect(stuckLines("a text:\n1. one")).toEqual([2]);
  expect(stuckLines("a text:\n| a | b |\n|---|---|")).toEqual([2]);
  expect(stuckLines("| a | b |\n|---|---|\na text")).toEqual([3]);
  expect(stuckLines("1. one. 2.\n   two")).toEqual([1]);
  expect(stuckLines("- one. -\n  two")).toEqual([1]);
  expect(
    stuckLines("# A\n- one\n  continued\n- two\n\na text\n\n1. one\n2. two\n\n```\na\n- b\n```"),
  ).toEqual([]);
});

test("in the pages every list and every table stands alone", () => {
  expect(pages.length).toBeGreaterThan(20);
  const stuck = pages.flatMap((page) =>
    stuckLines(readFileSync(join(root, page), "utf8")).map((line) => `${page}:${line}`),
  );
  expect(stuck).toEqual([]);
});
