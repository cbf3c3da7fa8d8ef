import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";

const root = resolve(import.meta.dir, "../..");
const pages = ["*.md", "{docs,client,deploy}/**/*.md"].flatMap((pattern) => [
  ...new Glob(pattern).scanSync(root),
]);

/** The anchors that Git hosts give to the headings of a page. */
function anchorsOf(file: string): Set<string> {
  const text = readFileSync(file, "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "");
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("every link between the pages leads to a page and a heading that exist", () => {
  expect(pages.length).toBeGreaterThan(20);
  const broken: string[] = [];
  for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(root, page) : resolve(root, dirname(page), path);
      if (!existsSync(file)) broken.push(`${page}: ${target}`);
      else if (anchor !== undefined && (statSync(file).isDirectory() || !anchorsOf(file).has(anchor)))
        broken.push(`${page}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});
