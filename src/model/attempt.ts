/** How often something went wrong, counted where all instances see it, in windows that start with the first time. */
export interface AttemptKeeper {
  /** Counts one more and answers how many the window of the key holds with it, and when that ends. */
  count(key: string, now: Date, windowMs: number): Promise<{ count: number; endsAt: Date }>;
  /** One of them was good after all. */
  giveBack(key: string): Promise<void>;
  forget(key: string): Promise<void>;
  deleteEnded(now: Date): Promise<number>;
}
