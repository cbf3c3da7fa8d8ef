import { describe, expect, test } from "bun:test";
import { FixedWindow, SlidingWindow, wholeSeconds } from "../../src/rate-limit.ts";

describe("the sliding window", () => {
  test("allows so many events in any span and returns how long to wait", () => {
    const window = new SlidingWindow<string>(2, 1000);
    expect([0, 600, 700].map((nowMs) => window.take("a", nowMs))).toEqual([null, null, 300]);
    expect(window.waitMs("a", 900)).toBe(100);
    expect(window.take("b", 900)).toBeNull();
    expect([1000, 1001].map((nowMs) => window.take("a", nowMs))).toEqual([null, 599]);
  });

  test("does not count an event that was given back", () => {
    const window = new SlidingWindow<number>(1, 1000);
    window.take(7, 10);
    window.giveBack(7, 10);
    expect(window.take(7, 20)).toBeNull();
    expect(window.take(7, 30)).toBe(990);
  });

  test("forgets old events in large steps without losing new ones", () => {
    const window = new SlidingWindow<string>(5000, 1000);
    for (let nowMs = 0; nowMs < 4000; nowMs++) expect(window.take("a", nowMs)).toBeNull();
    const strict = new SlidingWindow<string>(1000, 1000);
    for (let nowMs = 0; nowMs < 4000; nowMs++) expect(strict.take("a", nowMs)).toBeNull();
    expect(strict.take("a", 3999)).toBe(1);
  });
});

describe("the fixed window", () => {
  const counter = (maxKeys: number) => {
    const window = new FixedWindow({ windowMs: 1000, maxKeys }, () => ({ count: 0 }));
    return (key: string, nowMs: number) => ++window.entryOf(key, nowMs).count;
  };

  test("counts per key and starts again in each window", () => {
    const count = counter(10);
    expect([count("a", 0), count("a", 999), count("b", 999), count("a", 1000)]).toEqual([1, 2, 1, 1]);
  });

  test("counts keys beyond its limit together", () => {
    const count = counter(2);
    expect(["a", "b", "c", "d", "a"].map((key) => count(key, 0))).toEqual([1, 1, 1, 2, 2]);
  });
});

test("a wait is at least one whole second", () => {
  expect([0, 1, 1000, 1001].map(wholeSeconds)).toEqual([1, 1, 1, 2]);
});
