/**
 * Delays between attempts: doubling from `firstMs` to `maxMs`, each shortened at random so that many clients do not
 * retry at the same moment.
 */
export function buildBackoff(firstMs: number, maxMs: number, random: () => number = Math.random) {
  let currentMs = firstMs;
  return {
    nextMs(): number {
      const waitMs = currentMs * (0.5 + random() / 2);
      currentMs = Math.min(currentMs * 2, maxMs);
      return waitMs;
    },
    reset(): void {
      currentMs = firstMs;
    },
  };
}
