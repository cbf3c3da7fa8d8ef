import { Fault } from "../../errors.ts";

/** Maximum number of waiters per name; further ones are refused at once, as if their wait had timed out. */
const maxWaiters = 10_000;

interface Waiter {
  start(): void;
  timer: ReturnType<typeof setTimeout>;
}

/**
 * Admits one holder per name at a time, in order of arrival, within this process. Only the holder waits for the lock of
 * the database, so that waiters of one project do not take all connections.
 */
export function buildLockQueue() {
  /** A name is present while it is held; its set contains the waiters, the first one first. */
  const held = new Map<string, Set<Waiter>>();
  let isClosed = false;

  function release(name: string): void {
    const waiters = held.get(name);
    const [next] = waiters ?? [];
    if (next === undefined) held.delete(name);
    else {
      waiters?.delete(next);
      clearTimeout(next.timer);
      next.start();
    }
  }

  return {
    /** Returns the function that releases the lock, to be called once; null if `waitMs` passed first. */
    async acquire(name: string, waitMs: number): Promise<(() => void) | null> {
      if (isClosed) throw new Fault("unavailable", "The database is closed.");
      const waiters = held.get(name);
      if (waiters === undefined) {
        held.set(name, new Set());
        return () => release(name);
      }
      if (waiters.size >= maxWaiters) return null;
      return new Promise((resolve) => {
        const giveUp = () => {
          waiters.delete(waiter);
          resolve(null);
        };
        const waiter = { start: () => resolve(() => release(name)), timer: setTimeout(giveUp, waitMs) };
        waiters.add(waiter);
      });
    },
    /** Those that wait already still get their turn. */
    close(): void {
      isClosed = true;
    },
  };
}
