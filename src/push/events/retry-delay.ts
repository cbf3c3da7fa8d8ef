const minDelayMs = 250;
const maxDelayMs = 10_000;

/** How long to wait after failures that follow each other. */
export class RetryDelay {
  #nextMs = minDelayMs;

  /** Twice as long after each failure. */
  failed(): number {
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(maxDelayMs, 2 * delayMs);
    return delayMs;
  }

  succeeded(): void {
    this.#nextMs = minDelayMs;
  }
}
