import { expect, test } from "bun:test";
import { inSteps, summaryOf } from "../../src/task/service/request-summary.ts";

const minute = (minutes: number, count: number, p50Ms: number, serverError = 0) => ({
  at: new Date(minutes * 60_000),
  ...{
    count,
    success: count - serverError,
    redirect: 0,
    clientError: 0,
    serverError,
    p50Ms,
    p95Ms: p50Ms * 10,
  },
});

test("a summary has sums, and the medians of the minutes by their requests", () => {
  expect(summaryOf([minute(0, 10, 5), minute(1, 100, 2, 3), minute(2, 1, 900), minute(3, 0, 0)])).toEqual({
    ...{ count: 111, success: 108, redirect: 0, clientError: 0, serverError: 3, p50Ms: 2, p95Ms: 20 },
  });
  expect(summaryOf([])).toMatchObject({ count: 0, p50Ms: 0 });
});

test("steps begin at whole multiples of their length", () => {
  const steps = inSteps([minute(4, 1, 1), minute(5, 2, 1), minute(9, 3, 1), minute(21, 4, 1)], 5 * 60_000);
  expect(steps.map(({ at, count }) => [at.getTime() / 60_000, count])).toEqual([
    [0, 1],
    [5, 5],
    [20, 4],
  ]);
});
