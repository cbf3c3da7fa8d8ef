import { expect, test } from "bun:test";
import { requireProcessGroups } from "../../src/runner/process/process-groups.ts";

test("a runner is refused on Windows, with the way out", () => {
  expect(() => requireProcessGroups("win32")).toThrow(/runner\.enabled set to false/);
  for (const platform of ["linux", "darwin"] as const) requireProcessGroups(platform);
});
