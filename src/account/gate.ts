import { Fault } from "../errors.ts";

export interface GateOptions {
  /** How many run side by side. */
  atOnce: number;
  /** How many wait for their turn; the next one is told to come back. */
  waiting: number;
}

export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets costly work through a few at a time, in order, and refuses what would queue up behind it without end. */
export function buildGate({ atOnce, waiting }: GateOptions): Gate {
  let running = 0;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (running < atOnce) running++;
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve));
    else
      throw new Fault("too_many", "Too many sign-ins at once; try again in a moment.", {
        retryAfterSeconds: 2,
      });
    try {
      return await work();
    } finally {
      // A place is handed on, not freed and taken again, so that nobody slips in between.
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
