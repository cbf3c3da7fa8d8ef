/** Runs what it is given one after the other, in order; a failure of one does not touch the next. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine;
    // The caller has the failure; the chain only waits for the end.
    mine.catch(() => {});
    return mine;
  };
}
