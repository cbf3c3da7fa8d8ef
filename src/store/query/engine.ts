import type { Scope } from "./scope.ts";

/** What a kind of database must bring; the keepers and the rest of the store stand on it alone. */
export interface Engine {
  /** For single statements outside of a transaction. */
  scope: Scope;
  /** For people: which database this is, without credentials. */
  description: string;
  /** See Store. */
  version(): number | null;
  now(): Promise<Date>;
  /** See Store. */
  check(): Promise<string | null>;
  /**
   * Runs `work` while it holds `name` over all other instances; "timeout" when `waitMs` passed first. `work` uses only
   * the scope that it is given: where there are other instances, that is the transaction which holds the lock.
   */
  runLocked<T>(name: string, waitMs: number, work: (scope: Scope) => Promise<T>): Promise<T | "timeout">;
  close(): Promise<void>;
}
