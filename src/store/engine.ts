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
  /** Throws when the database does not answer. */
  check(): Promise<void>;
  /** Takes `name` over all other instances until the answer is called; null when `waitMs` passed first. */
  lockAcrossInstances(name: string, waitMs: number): Promise<(() => Promise<void>) | null>;
  close(): Promise<void>;
}
