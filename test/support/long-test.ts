/**
 * The limit of a test that may take longer than the five minutes after which `npm test` ends a process in which no test
 * has ended. The printed line announces it (scripts/test-output.ts).
 */
export function longTest(limitMs: number): number {
  console.log(`(limit) ${limitMs}`);
  return limitMs;
}
