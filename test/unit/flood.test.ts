import { expect, test } from "bun:test";
import { buildFloodGuard } from "../../src/webhook/receive/flood.ts";

const minuteMs = 60_000;

/** A guard whose writes are counted. */
function startGuard() {
  const counts: number[] = [];
  const guard = buildFloodGuard({
    addToCount: async (id, more) => {
      counts[id] = (counts[id] ?? 0) + more;
      return true;
    },
    failed: (error) => {
      throw error;
    },
  });
  const record = (source: string, atMs: number, place = "0") =>
    guard.record({ source, place }, atMs, async () => counts.push(1) - 1);
  return { guard, record, counts };
}

test("a flood from always new addresses writes a bounded number of records in a minute and in an hour", async () => {
  const { guard, record, counts } = startGuard();
  let sent = 0;
  for (let minute = 0; minute < 60; minute++)
    for (let n = 0; n < 700; n++) await record(`address ${sent++}`, minute * minuteMs);
  await guard.settle();
  // The separate records of six minutes, and for each minute one record that counts the rest.
  expect(counts.length).toBeLessThanOrEqual(3600 + 60);
  expect(counts.length).toBeGreaterThanOrEqual(3600);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(sent);
  await record("address", 60 * minuteMs);
  expect(counts.at(-1)).toBe(1);
});

test("a flood at one place does not affect another place", async () => {
  const { record, counts, guard } = startGuard();
  for (let n = 0; n < 1000; n++) await record(`address ${n}`, 0);
  await guard.settle();
  expect(counts).toHaveLength(601);
  for (let n = 0; n < 100; n++) await record(`address ${n} at 7`, 0, "7");
  expect(counts).toHaveLength(701);
});
