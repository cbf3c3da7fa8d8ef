import { describe, expect, test } from "bun:test";
import { compileGlob } from "../../src/model/glob.ts";

/** Random patterns and texts are compared with the rules in test/fuzz/glob.test.ts. */
const rows: { pattern: string; matches: string[]; misses: string[] }[] = [
  { pattern: "main", matches: ["main"], misses: ["main2", "x/main", "Main", ""] },
  { pattern: "release/*", matches: ["release/1", "release/"], misses: ["release/1/2", "release"] },
  { pattern: "release/**", matches: ["release/1", "release/1/2"], misses: ["release"] },
  { pattern: "**/*.ts", matches: ["a.ts", "x/y/a.ts", ".ts"], misses: ["a.tsx"] },
  {
    pattern: "src/**/test/?.js",
    matches: ["src/test/a.js", "src/a/b/test/b.js", "src/test/€.js", "src/test/😀.js"],
    misses: ["src/test/ab.js", "src/test//.js", "src/xtest/a.js"],
  },
  { pattern: "**/docs", matches: ["docs", "a/docs", "a/b/docs"], misses: ["xdocs", "a/xdocs", "docs/a"] },
  { pattern: "docs/**/", matches: ["docs/", "docs/a/", "docs/a/b/"], misses: ["docs", "docs/a"] },
  { pattern: "**", matches: ["", "a", "a/b/c", "/"], misses: [] },
  { pattern: "*", matches: ["", "a"], misses: ["/", "a/b"] },
  { pattern: "a**b", matches: ["ab", "a/b", "a/x/b"], misses: ["a/bc"] },
  { pattern: "***/x", matches: ["/x", "a/x", "a/b/x"], misses: ["x"] },
  { pattern: "v?.*", matches: ["v1.", "v1.2"], misses: ["v.1", "v12.1", "v/.1"] },
  { pattern: "[ab]{c,d}!(e)+.^$|\\", matches: ["[ab]{c,d}!(e)+.^$|\\"], misses: ["ac", "a"] },
  { pattern: "", matches: [""], misses: ["a"] },
];

describe("glob semantics", () => {
  for (const { pattern, matches, misses } of rows)
    test(`${pattern || "the empty pattern"} matches and misses what the four rules say`, () => {
      for (const text of matches) expect([text, compileGlob(pattern)(text)]).toEqual([text, true]);
      for (const text of misses) expect([text, compileGlob(pattern)(text)]).toEqual([text, false]);
    });

  test("100 patterns against 10,000 paths are fast, hostile ones included", () => {
    const hostile = Array.from({ length: 100 }, (_, index) =>
      compileGlob(`${"*a".repeat(5 + (index % 20))}**/*b*`),
    );
    const paths = Array.from({ length: 10_000 }, (_, index) => `${"a".repeat(40)}/${"a".repeat(index % 20)}`);
    const startedAt = performance.now();
    for (const glob of hostile) for (const path of paths) if (glob(path)) throw new Error("must not match");
    // Far above the measured figure (see docs/performance.md): this only catches an explosion.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
