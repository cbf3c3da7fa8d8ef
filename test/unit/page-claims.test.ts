import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Glob } from "bun";
import { claims, exceptions } from "../support/page-claims.ts";
import { blocksIn } from "../support/page-examples.ts";

const root = resolve(import.meta.dir, "../..");
const patterns = ["*.md", "{docs,client,clients,examples,deploy}/**/*.md"];
const pages = patterns
  .flatMap((pattern) => [...new Glob(pattern).scanSync(root)])
  .filter((page) => !page.includes("node_modules"));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The tests, or the reason why there is none, for an example. */
function claimOf(page: string, { id, name }: { id: string; name: string }): string | undefined {
  const claim = claims[page] ?? {};
  return exceptions[page]?.[id] ?? claim[id] ?? claim["*"] ?? (name === "" ? undefined : claim.named);
}

test("every example of every page is run or checked by a named test, or is a named exception", () => {
  const unclaimed = pages.flatMap((page) =>
    blocksIn(read(page))
      .filter((block) => block.language !== "text" && claimOf(page, block) === undefined)
      .map(({ id, line }) => `${page}:${line}: "${id}"`),
  );
  expect(
    unclaimed,
    "No test runs these examples. Run each in test/cli/page-commands.test.ts (commands and requests: `run(page, id)`) or " +
      "test/clients/page-code.test.ts (code), or in a test of your own, and name that test in test/support/page-claims.ts; " +
      "output and diagrams have the language `text`. Where nothing can run it, add it to the exceptions there, with the reason.",
  ).toEqual([]);
});

test("every claim and exception is about an example that exists, and the named test about that page", () => {
  for (const [page, claim] of Object.entries(claims)) {
    const blocks = blocksIn(read(page));
    for (const [id, file] of Object.entries(claim)) {
      const isThere = id === "*" || id === "named" || blocks.some((block) => block.id === id);
      expect([page, id, isThere]).toEqual([page, id, true]);
      expect([file, existsSync(join(root, file))]).toEqual([file, true]);
      expect([file, page, read(file).includes(basename(page))]).toEqual([file, page, true]);
    }
  }
  for (const [page, reasons] of Object.entries(exceptions))
    for (const id of Object.keys(reasons))
      expect([page, id, blocksIn(read(page)).some((block) => block.id === id)]).toEqual([page, id, true]);
});

test("a block of text contains no command", () => {
  const command =
    /^\s*(\$ |sudo |(bin\/)?slipway [a-z]|npm |npx |curl |docker |git |bun |node |helm |kubectl )/m;
  for (const page of pages)
    for (const { language, text, line } of blocksIn(read(page)))
      if (language === "text" && page !== "docs/tasks.md" && !page.startsWith("docs/architecture"))
        expect([`${page}:${line}`, command.exec(text)?.[0] ?? null]).toEqual([`${page}:${line}`, null]);
});

test("files of the repository that examples name exist", () => {
  for (const page of pages)
    for (const { text, line } of blocksIn(read(page)).filter(({ language }) => language === "sh"))
      for (const [file] of text.matchAll(/(?<![\w/.-])(?:deploy|scripts|examples|bin)\/[\w./-]+/g))
        expect([page, line, file, existsSync(join(root, file))]).toEqual([page, line, file, true]);
});
