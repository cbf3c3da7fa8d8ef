interface Waiting {
  until: number;
  giveUp(): void;
}

const sweepEveryMs = 1000;

/**
 * A deadline for request bodies on a hot path. All share one timer, because a timer for each would cost more than reading.
 * A body that is incomplete at the deadline resolves to `tooLate()`, up to a second later. So does a body whose sender
 * disconnects.
 */
export function buildBodyDeadline<A>(timeoutMs: number, tooLate: () => A) {
  // In order of their start, so that a sweep ends at the first entry that has time left.
  const waiting = new Set<Waiting>();
  let isSweeping = false;

  function sweep(): void {
    isSweeping = false;
    const now = performance.now();
    for (const one of waiting) {
      if (one.until > now) break;
      waiting.delete(one);
      one.giveUp();
    }
    sweepLater();
  }

  function sweepLater(): void {
    if (isSweeping || waiting.size === 0) return;
    isSweeping = true;
    setTimeout(sweep, sweepEveryMs).unref();
  }

  return <T>(reading: Promise<T>): Promise<T | A> =>
    new Promise<T | A>((resolve) => {
      const one: Waiting = { until: performance.now() + timeoutMs, giveUp: () => resolve(tooLate()) };
      waiting.add(one);
      sweepLater();
      reading.then(
        (body) => {
          waiting.delete(one);
          resolve(body);
        },
        // The sender has disconnected, and nobody reads the answer.
        () => {
          waiting.delete(one);
          resolve(tooLate());
        },
      );
    });
}
