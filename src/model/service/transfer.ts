import type { Reason } from "../../reason/reason.ts";

/** What one runner gets from another one. */
export type TransferKind = "release" | "data";

/**
 * `stopping`: the services of the data are stopped first. `wanted`: the holder was not asked yet. `sending`: it was asked.
 * `complete`: all parts are here. `failed`: see `fault`.
 */
export type TransferState = "stopping" | "wanted" | "sending" | "complete" | "failed";

/** A release, or the data of a project, on its way through the server from the runner that has it to a task that needs it. */
export interface Transfer {
  /** The id of the protocol. */
  key: string;
  kind: TransferKind;
  /** Whose release or data. */
  projectId: number;
  /** The task that built the release, and its attempt. */
  taskId: number;
  attempt: number;
  fromRunnerId: number;
  toRunnerId: number;
  /** The folder of the runner that gets it: programs store absolute paths in what they build. */
  root: string;
  /** The task that needs it, and its attempt. Nothing else gets it. */
  forTaskId: number;
  forAttempt: number;
  state: TransferState;
  /** The parts that are here. */
  parts: number;
  bytes: number;
  fault: Reason;
  /** Asking again would not help. */
  isFinal: boolean;
  createdAt: Date;
  /** The last step of the holder. */
  movedAt: Date;
}

export interface TransferKeeper {
  add(transfer: Transfer): Promise<void>;
  byKey(key: string): Promise<Transfer | null>;
  /** Of one attempt of a task. */
  ofTask(forTaskId: number, forAttempt: number): Promise<Transfer[]>;
  /** Those that the runner was not asked for yet; they are `sending` from now on. */
  take(runnerId: number, now: Date): Promise<Transfer[]>;
  /** Null: it is not in one of these states. */
  change(
    key: string,
    whileIn: readonly TransferState[],
    set: Partial<Omit<Transfer, "key">>,
  ): Promise<Transfer | null>;
  /** What all of them take. */
  totalBytes(): Promise<number>;
  all(): Promise<Transfer[]>;
  delete(key: string): Promise<void>;
}
