import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { dependencies, devDependencies } from "../../package.json";

const folder = resolve(import.meta.dir, "../../docs/decisions");
const read = (page: string) => readFileSync(`${folder}/${page}`, "utf8");
const pages = readdirSync(folder).filter((page) => page !== "README.md");

test("every package of package.json has a line in docs/decisions/dependencies.md", () => {
  const rows = read("dependencies.md").split("\n");
  const listed = rows.flatMap((row) => row.split("|")[1]?.split(",") ?? []).map((name) => name.trim());
  for (const name of [...Object.keys(dependencies), ...Object.keys(devDependencies)])
    expect(listed).toContain(name);
});

test("every page of docs/decisions is in its index, and every entry names a rejected alternative", () => {
  for (const page of pages) {
    expect(read("README.md")).toContain(`](${page})`);
    for (const entry of read(page).split("\n- ").slice(1))
      expect(entry, `${page}: ${entry}`).toContain("Rejected:");
  }
});
