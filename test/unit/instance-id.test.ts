import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { stableInstanceId } from "../../src/app/instance-id.ts";
import { RecentIds } from "../../src/bus/recent-ids.ts";

test("an instance keeps its id in the data folder", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "slipway-instance-")), "data");
  const first = stableInstanceId(folder, undefined);
  expect(first).toMatch(/^[0-9a-f]{12}$/);
  expect(stableInstanceId(folder, undefined)).toBe(first);
  expect(stableInstanceId(folder, "pod-7")).toBe("pod-7");
  writeFileSync(join(folder, "instance-id"), "a b");
  expect(() => stableInstanceId(folder, undefined)).toThrow("instance-id must be 1 to 64 letters");
});

test("an empty file, which a kill or a full disk may have left, gets an id", () => {
  const folder = mkdtempSync(join(tmpdir(), "slipway-instance-"));
  writeFileSync(join(folder, "instance-id"), "");
  const made = stableInstanceId(folder, undefined);
  expect(made).toMatch(/^[0-9a-f]{12}$/);
  expect(stableInstanceId(folder, undefined)).toBe(made);
});

test("recent ids are known at least for their capacity and at most for twice that", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 200 }), (numbers) => {
      const capacity = 8;
      const recent = new RecentIds(capacity);
      const added: number[] = [];
      for (const number of numbers) {
        const isNew = recent.add(String(number));
        if (added.slice(-capacity).includes(number)) expect(isNew).toBe(false);
        if (!added.slice(-2 * capacity).includes(number)) expect(isNew).toBe(true);
        if (isNew) added.push(number);
      }
    }),
  );
});
