import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

/** The last cell of each table row: `folder/file › name of a test`. */
function namedTests(): { file: string; name: string }[] {
  const page = readFileSync(`${root}/docs/reliability.md`, "utf8");
  return page.split("\n").flatMap((line) => {
    const cell = line.split(" | ").at(-1)?.replace(/ \|$/, "") ?? "";
    const [place, name] = cell.split(" › ");
    return line.startsWith("| ") && place && name !== undefined ? [{ file: place, name }] : [];
  });
}

test("each promise of docs/reliability.md names a test that exists", () => {
  const named = namedTests();
  expect(named.length).toBeGreaterThan(20);
  for (const { file, name } of named) {
    expect(name, `a row that names ${file}`).not.toBe("");
    const path = `${root}/test/${file}.test.ts`;
    expect(existsSync(path), `${path} exists`).toBeTrue();
    expect(readFileSync(path, "utf8").includes(`"${name}"`), `${file} has "${name}"`).toBeTrue();
  }
});
