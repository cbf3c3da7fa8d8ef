import { Fault } from "../../errors.ts";

/** Maximum number of waiters per name; further ones are refused at once, as if their wait had timed out. */
const maxWaiters = 10_000;

interface Waiter {
  start: () => void;
}

/** Admits one holder per name at a time, in order of arrival, within this process. */
export function buildLockQueue() {
  /** A name is present while it is held; its list contains the waiters. */
  const held = new Map<string, Waiter[]>();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let isClosed = false;

  const release = (name: string) => {
    const next = held.get(name)?.shift();
    if (next === undefined) held.delete(name);
    else next.start();
  };
  const releaseOnce = (name: string) => {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      release(name);
    };
  };

  return {
    /** Returns the function that releases the lock; null if `waitMs` passed first. */
    async acquire(name: string, waitMs: number): Promise<(() => void) | null> {
      if (isClosed) throw new Fault("unavailable", "The database is closed.");
      const waiters = held.get(name);
      if (waiters === undefined) {
        held.set(name, []);
        return releaseOnce(name);
      }
      if (waiters.length >= maxWaiters) return null;
      return new Promise((resolve) => {
        const waiter: Waiter = {
          start() {
            clearTimeout(timer);
            timers.delete(timer);
            resolve(releaseOnce(name));
          },
        };
        const timer = setTimeout(() => {
          timers.delete(timer);
          waiters.splice(waiters.indexOf(waiter), 1);
          resolve(null);
        }, waitMs);
        timers.add(timer);
        waiters.push(waiter);
      });
    },
    close(): void {
      isClosed = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
