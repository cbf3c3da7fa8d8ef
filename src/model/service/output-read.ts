/** A part of a service's output that a person waits for, and the answer of its runner. Both are JSON of the runner protocol. */
export interface OutputRead {
  /** The id of the call of the protocol. */
  key: string;
  runnerId: number;
  wanted: string;
  /** The runner was asked. */
  isTaken: boolean;
  /** Null: it has not answered yet. */
  answer: string | null;
  createdAt: Date;
}

/** A mailbox in the database, because reader and runner may be connected to different instances. */
export interface OutputReadKeeper {
  /** False: so many wait for this runner already. */
  add(read: Pick<OutputRead, "key" | "runnerId" | "wanted" | "createdAt">, limit: number): Promise<boolean>;
  /** The reads that the runner was not asked for yet. */
  take(runnerId: number): Promise<string[]>;
  answer(runnerId: number, key: string, answer: string): Promise<void>;
  answerOf(key: string): Promise<string | null>;
  delete(key: string): Promise<void>;
  /** Of instances that were killed meanwhile. */
  deleteOlderThan(before: Date): Promise<number>;
}
