const [firstPauseMs, longestPauseMs] = [10, 100];

/** Polls until a condition holds: often at first, less often the longer it takes. */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<void> {
  // Not `Date.now()`, which tests change.
  const startedAt = performance.now();
  while (!(await isTrue())) {
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > deadlineMs) throw new Error(`Not within ${deadlineMs / 1000} s: ${what}.`);
    await Bun.sleep(Math.min(firstPauseMs + elapsedMs / 10, longestPauseMs));
  }
}
