/**
 * The error of a rejected promise. `expect(…).rejects` waits in a nested event loop, in which Bun delivers no messages of
 * worker threads, so that a promise of the store would never settle.
 */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail.");
}
