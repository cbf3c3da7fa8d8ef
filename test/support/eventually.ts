/** Polls until a condition holds. */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`Not within ${deadlineMs / 1000} s: ${what}.`);
    await Bun.sleep(10);
  }
}
