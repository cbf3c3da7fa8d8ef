import type { AnyOperation, OperationLock } from "../../model/store.ts";
import type { CallKinds, KeeperCall } from "./keeper-call.ts";

/** A kind of database: executes keeper calls and operations next to the data. */
export interface Engine {
  /** Of its keepers. */
  kinds: CallKinds;
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
