import type { RequestMinute } from "../../model/service/running-service.ts";

type Counts = Omit<RequestMinute, "at">;
const none: Counts = {
  ...{ count: 0, success: 0, redirect: 0, clientError: 0, serverError: 0, p50Ms: 0, p95Ms: 0 },
};

/**
 * The sums of several minutes. Their times are the medians of the minutes, each minute as often as it had requests: exact
 * percentiles would need every request.
 */
export function summaryOf(minutes: readonly RequestMinute[]): Counts {
  const sums = { ...none };
  for (const minute of minutes)
    for (const field of ["count", "success", "redirect", "clientError", "serverError"] as const)
      sums[field] += minute[field];
  return { ...sums, p50Ms: medianOf(minutes, "p50Ms"), p95Ms: medianOf(minutes, "p95Ms") };
}

function medianOf(minutes: readonly RequestMinute[], field: "p50Ms" | "p95Ms"): number {
  const sorted = minutes.filter(({ count }) => count > 0).toSorted((a, b) => a[field] - b[field]);
  const half = sorted.reduce((sum, { count }) => sum + count, 0) / 2;
  let passed = 0;
  return (
    sorted.find(({ count }) => {
      passed += count;
      return passed >= half;
    })?.[field] ?? 0
  );
}

/** Summaries of `stepMs` each, oldest first; steps without a request are left out. */
export function inSteps(minutes: readonly RequestMinute[], stepMs: number): RequestMinute[] {
  const steps = Map.groupBy(minutes, ({ at }) => Math.floor(at.getTime() / stepMs) * stepMs);
  return [...steps].map(([at, inStep]) => ({ at: new Date(at), ...summaryOf(inStep) }));
}
