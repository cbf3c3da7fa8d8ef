/** Counts failed attempts per key over all instances, in fixed windows that start with the first attempt. */
export interface FailedAttemptKeeper {
  /** Adds an attempt; returns the number of attempts in the window and the end of the window. */
  count(key: string, now: Date, windowMs: number): Promise<{ count: number; endsAt: Date }>;
  /** Removes one attempt, because it succeeded. */
  giveBack(key: string): Promise<void>;
  forget(key: string): Promise<void>;
  deleteEnded(now: Date): Promise<number>;
}
