import type { AnyOperation, OperationLock } from "../../model/store.ts";

/**
 * How a keeper's call runs. `read`: short. `list`: may take seconds, so it must not delay short reads. `write`: one
 * statement. `change`: several statements in one transaction.
 */
export type CallKind = "read" | "list" | "write" | "change";

/** A call of a keeper's method, by name. */
export interface KeeperCall {
  kind: CallKind;
  noun: string;
  method: string;
  parameters: readonly unknown[];
}

/** A kind of database: executes keeper calls and operations next to the data. */
export interface Engine {
  call(call: KeeperCall): Promise<unknown>;
  /** See Store. */
  run(operation: AnyOperation, input: unknown, lock: OperationLock | undefined): Promise<unknown>;
  /** For people: the database without credentials. */
  description: string;
  isShared: boolean;
  now(): Date;
  /** See Store. */
  check(): Promise<string | null>;
  close(): Promise<void>;
}
