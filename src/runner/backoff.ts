/** Waits between attempts: doubling from `firstMs` to `maxMs`, each shortened by chance so that many do not come together. */
export interface Backoff {
  nextMs(): number;
  reset(): void;
}

export function buildBackoff(firstMs: number, maxMs: number, random: () => number = Math.random): Backoff {
  let currentMs = firstMs;
  return {
    nextMs() {
      const waitMs = currentMs * (0.5 + random() / 2);
      currentMs = Math.min(currentMs * 2, maxMs);
      return waitMs;
    },
    reset() {
      currentMs = firstMs;
    },
  };
}
