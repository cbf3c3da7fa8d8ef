import { Fault } from "../errors.ts";
import { newReason } from "../reason/reason.ts";

export interface GateOptions {
  /** How many run at the same time. */
  atOnce: number;
  /** How many may wait; further calls are refused. */
  waiting: number;
}

export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** Limits costly work: runs a few calls at a time, in order, with a bounded queue. */
export function buildGate({ atOnce, waiting }: GateOptions): Gate {
  let running = 0;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (running < atOnce) running++;
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve));
    else
      throw new Fault("too_many", newReason("sign_in_busy"), {
        retryAfterSeconds: 2,
      });
    try {
      return await work();
    } finally {
      // The slot passes to the next in the queue, so that a new call cannot take it.
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
