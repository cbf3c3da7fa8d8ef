import { expect, test } from "bun:test";
import { countJunit, findGroups } from "../../scripts/test-groups.ts";

test("the counts of a group are those of the runner's own report", () => {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="12" assertions="30" failures="2" skipped="3" time="0.1">
  <testsuite name="inner" tests="99" failures="99" skipped="99"></testsuite>
</testsuites>`;
  expect(countJunit(xml)).toEqual({ passed: 7, failed: 2, skipped: 3 });
});

test("a report that cannot be read counts nothing as passed", () => {
  expect(countJunit("")).toEqual({ passed: 0, failed: 0, skipped: 0 });
});

test("every folder of tests is a group, the fast one first", () => {
  const names = findGroups().map(({ name }) => name);
  expect(names[0]).toBe("unit");
  expect(names).not.toContain("support");
  expect(new Set(names).size).toBe(names.length);
});
