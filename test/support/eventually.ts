/** Polls until a condition holds. */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<void> {
  // Not `Date.now()`, which tests change.
  const deadline = performance.now() + deadlineMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Not within ${deadlineMs / 1000} s: ${what}.`);
    // How often it looks.
    await Bun.sleep(10);
  }
}
