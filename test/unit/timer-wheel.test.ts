import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { TimerWheel } from "../../src/push/connection/timer-wheel.ts";

describe("timer wheel", () => {
  test("every item is visited once, not before its time and at most one tick after it", () => {
    const delays = fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 50 });
    const steps = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(delays, steps, (dueAfter, advances) => {
        const tickMs = 100;
        const wheel = new TimerWheel<{ at: number }>({ tickMs, reachMs: 1000, nowMs: 0 });
        const visited = new Map<object, number>();
        for (const at of dueAfter) wheel.schedule({ at }, at);
        let now = 0;
        for (const step of advances) {
          const before = now;
          now += step;
          wheel.advance(now, (item, nowMs) => {
            // An item beyond the last slot is visited early and schedules itself again.
            if (nowMs < item.at) return item.at;
            expect(visited.has(item)).toBe(false);
            visited.set(item, nowMs);
            expect(before).toBeLessThan(item.at + 2 * tickMs);
            return 0;
          });
        }
        const due = dueAfter.filter((at) => at <= now - 2 * tickMs).length;
        expect(visited.size).toBeGreaterThanOrEqual(due);
      }),
    );
  });

  test("after the machine slept, every item is visited once", () => {
    const wheel = new TimerWheel<number>({ tickMs: 100, reachMs: 1000, nowMs: 0 });
    for (let item = 0; item < 10; item++) wheel.schedule(item, item * 100);
    const visited: number[] = [];
    wheel.advance(86_400_000, (item) => {
      visited.push(item);
      return 0;
    });
    expect(visited.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});
