import { readFileSync } from "node:fs";

/** Time as an argument, so that tests move it instead of sleeping. */
export interface Clock {
  /** Milliseconds since the epoch, for display and records. Changes with the system clock. */
  now(): number;
  /** Elapsed milliseconds from an arbitrary start, for limits and waits. Not affected by changes of the system clock. */
  elapsed(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

/** A clock that changes only by `advance`. */
export function manualClock(startMs = Date.UTC(2026, 0, 1)): Clock & { advance(ms: number): void } {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    elapsed: () => nowMs - startMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}

const startedAtMs = Date.now() - performance.now();

/** Not affected by changes of the system time. For deadlines, not for display. */
export const steadyClock: Clock = {
  now: () => startedAtMs + performance.now(),
  elapsed: () => performance.now(),
};

/** Time since the machine started. Processes with the same `boot` share it, and it cannot be changed. */
export interface MachineClock {
  boot: string;
  elapsed(): number;
}

/** Null if the system does not provide it. */
export function machineClock(): MachineClock | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const upSeconds = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
    if (boot === "" || !Number.isFinite(upSeconds)) return null;
    const startedAtMs = upSeconds * 1000 - performance.now();
    return { boot, elapsed: () => startedAtMs + performance.now() };
  } catch {
    return null;
  }
}

/** Resolves after `ms`, or at once when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  });
}

/**
 * Delays between attempts: doubling from `firstMs` to `maxMs`, each shortened at random so that many clients do not
 * retry at the same moment.
 */
export function buildBackoff(firstMs: number, maxMs: number, random: () => number = Math.random) {
  let currentMs = firstMs;
  return {
    nextMs(): number {
      const waitMs = currentMs * (0.5 + random() / 2);
      currentMs = Math.min(currentMs * 2, maxMs);
      return waitMs;
    },
    reset(): void {
      currentMs = firstMs;
    },
  };
}
