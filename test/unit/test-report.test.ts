import { expect, test } from "bun:test";
import { findGroups, processesOf } from "../../scripts/test-groups.ts";
import { countJunit, fileTimes, GroupOutput } from "../../scripts/test-output.ts";

test("the counts of a group are those of the runner's own report", () => {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="12" assertions="30" failures="2" skipped="3" time="0.1">
  <testsuite name="inner" tests="99" failures="99" skipped="99"></testsuite>
</testsuites>`;
  expect(countJunit(xml)).toEqual({ passed: 7, failed: 2, skipped: 3 });
});

test("the time of a file is that of its own suite, not of a describe in it", () => {
  const xml = `<testsuite name="test/a.test.ts" file="test/a.test.ts" tests="2" time="1.5" hostname="vm">
    <testsuite name="a group" file="test/a.test.ts" line="3" tests="1" time="1.2" hostname="vm">`;
  expect(fileTimes(xml)).toEqual([{ file: "test/a.test.ts", seconds: 1.5 }]);
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

async function reported(...lines: string[]): Promise<{ failures: string[]; printed: string }> {
  let printed = "";
  const output = new GroupOutput("push", (text) => {
    printed += text;
  });
  await output.read(new Blob([lines.join("\n")]).stream());
  output.end(false);
  return { failures: output.failures, printed };
}

test("a long group is two processes, which run each of its files once", () => {
  const group = { name: "task", files: ["a", "b", "c"] };
  expect(processesOf(group).map(({ files }) => files)).toEqual([["a", "c"], ["b"]]);
});

test("a failed test is listed once, with its error and without the stack", async () => {
  const failed = "(fail) push > is delivered [3.00ms]";
  const { failures, printed } = await reported(
    ...["(pass) push > opens [1.00ms]", "error: expect(received).toBe(expected)", "", "Expected: 2"],
    ...["Received: 3", "", "      at <anonymous> (push.test.ts:8:3)", failed, "1 tests failed:", failed],
  );
  expect(failures).toEqual([
    "push > is delivered [3.00ms]\n    error: expect(received).toBe(expected)\n    Expected: 2\n    Received: 3",
  ]);
  expect(printed).toContain("push.test.ts:8:3");
});

const outside = [
  "# Unhandled error between tests",
  "-----",
  "TypeError: closed",
  "      at close (a.ts:1:1)",
];

test.each([
  ["before another test", [...outside, "-----", "(pass) push > opens [1.00ms]"]],
  ["after the last test", ["(pass) push > opens [1.00ms]", ...outside, "-----", " 1 pass"]],
])("an error outside of a test is listed and printed: %s", async (_, lines) => {
  const { failures, printed } = await reported(...lines);
  expect(failures).toEqual(["an error outside of a test\n    TypeError: closed"]);
  expect(printed).toContain("at close (a.ts:1:1)");
});
