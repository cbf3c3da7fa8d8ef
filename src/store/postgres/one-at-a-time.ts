/** Runs jobs one after the other, in order; a failed job does not affect the next one. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine;
    // The caller receives the failure; the chain only waits for the end.
    mine.catch(() => {});
    return mine;
  };
}
