import { describe, expect, test } from "bun:test";
import { buildAttemptLimit } from "../../src/account/attempt-limit.ts";
import { manualClock } from "../../src/clock.ts";

const options = { name: "test", attempts: 3, windowMs: 60_000, maxKeys: 100 };

describe("the limit of attempts", () => {
  test("allows a number of attempts, then returns how long to wait", async () => {
    const clock = manualClock();
    const limit = buildAttemptLimit(options, clock, null);
    expect(await Promise.all([1, 2, 3].map(() => limit.take("a")))).toEqual([0, 0, 0]);
    clock.advance(20_000);
    expect(await limit.take("a")).toBe(40);
    expect(await limit.take("b")).toBe(0);
    clock.advance(40_000);
    expect(await limit.take("a")).toBe(0);
  });

  test("does not count attempts before a forgiven one, nor an attempt that is given back", async () => {
    const limit = buildAttemptLimit(options, manualClock(), null);
    for (const _ of [1, 2, 3]) await limit.take("a");
    await limit.giveBack("a");
    expect([await limit.take("a"), await limit.take("a")]).toEqual([0, 60]);
    await limit.forgive("a");
    expect(await limit.take("a")).toBe(0);
  });

  test("remembers a bounded number of keys and forgets the least recent first", async () => {
    const limit = buildAttemptLimit(options, manualClock(), null);
    for (const _ of [1, 2, 3]) await limit.take("victim");
    for (let n = 0; n < 5000; n++) {
      await limit.take(`key ${n}`);
      expect(limit.size()).toBeLessThanOrEqual(100);
    }
    expect(await limit.take("key 4999")).toBe(0);
  });
});
