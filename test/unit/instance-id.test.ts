import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stableInstanceId } from "../../src/app/instance-id.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("an instance keeps its id in the data folder", () => {
  const folder = join(temporaryFolder("instance"), "data");
  const first = stableInstanceId(folder, undefined);
  expect(first).toMatch(/^[0-9a-f]{12}$/);
  expect(stableInstanceId(folder, undefined)).toBe(first);
  expect(stableInstanceId(folder, "pod-7")).toBe("pod-7");
  writeFileSync(join(folder, "instance-id"), "a b");
  expect(() => stableInstanceId(folder, undefined)).toThrow("instance-id must be 1 to 64 letters");
});
