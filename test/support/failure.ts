/**
 * What a promise fails with. `expect(…).rejects` waits in a loop of its own, in which Bun hands over no messages of
 * threads: what a thread of the store answers would never arrive.
 */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail.");
}
