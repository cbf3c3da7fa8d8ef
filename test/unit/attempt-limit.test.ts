import { describe, expect, test } from "bun:test";
import { buildAttemptLimit } from "../../src/account/attempt-limit.ts";
import { manualClock } from "../../src/clock.ts";

const options = { attempts: 3, windowMs: 60_000, maxKeys: 100 };

describe("the limit of attempts", () => {
  test("lets so many through, then says how long to wait", () => {
    const clock = manualClock();
    const limit = buildAttemptLimit(options, clock);
    expect([1, 2, 3].map(() => limit.take("a"))).toEqual([0, 0, 0]);
    clock.advance(20_000);
    expect(limit.take("a")).toBe(40);
    expect(limit.take("b")).toBe(0);
    clock.advance(40_000);
    expect(limit.take("a")).toBe(0);
  });

  test("forgets what a key did once an attempt was good", () => {
    const limit = buildAttemptLimit(options, manualClock());
    for (const _ of [1, 2, 3]) limit.take("a");
    limit.forgive("a");
    expect(limit.take("a")).toBe(0);
  });

  test("remembers a bounded number of keys and forgets the one longest quiet first", () => {
    const limit = buildAttemptLimit(options, manualClock());
    for (const _ of [1, 2, 3]) limit.take("victim");
    for (let n = 0; n < 5000; n++) {
      limit.take(`key ${n}`);
      expect(limit.size()).toBeLessThanOrEqual(100);
    }
    expect(limit.take("key 4999")).toBe(0);
  });
});
