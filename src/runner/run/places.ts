/** The places for scripts of a runner: as many tasks as `total` run scripts at the same time. */
export function buildPlaces(total: number) {
  let taken = 0;
  const waiting: (() => void)[] = [];

  function leave(): void {
    taken -= 1;
    waiting.shift()?.();
  }

  return {
    /** Waits for a place, and returns how it is left; null: the task was stopped first. */
    async take(stop: AbortSignal, onWait: () => void): Promise<(() => void) | null> {
      if (taken >= total) onWait();
      while (taken >= total && !stop.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        stop.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        const index = waiting.indexOf(resolve);
        if (index >= 0) waiting.splice(index, 1);
      }
      if (stop.aborted) {
        // A place that became free for this task goes to the next one.
        if (taken < total) waiting.shift()?.();
        return null;
      }
      taken += 1;
      return leave;
    },
  };
}
export type Places = ReturnType<typeof buildPlaces>;
