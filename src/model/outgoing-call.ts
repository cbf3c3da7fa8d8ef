/** How the receiver knows that a call is ours; the secret itself is looked up for each try. */
export type OutgoingProof = "signature" | "bearer" | "token" | "private-token";

/** A call to somebody outside that waits until it is taken: a notification, or a commit status. */
export interface OutgoingCall {
  id: number;
  projectId: number;
  /** For logs and metrics. */
  kind: "notification" | "commit status";
  /** A later call of the same subject replaces this one while it waits: the newest state is the true one. */
  subject: string | null;
  url: string;
  /** The same in every try, so that a receiver knows a double. */
  messageId: string;
  proof: OutgoingProof;
  body: string;
  /** Tries that were begun. */
  attempts: number;
  /** Until then it is in the hands of the instance that began the last try. */
  nextTryAt: Date;
  createdAt: Date;
}

/** One that nobody has tried yet. */
export type NewOutgoingCall = Omit<OutgoingCall, "id" | "attempts" | "nextTryAt" | "createdAt">;

export interface OutgoingCallKeeper {
  /** Stores a call instead of older ones of its subject; answers its id, or null when `maxWaiting` wait already. */
  add(call: Omit<OutgoingCall, "id">, maxWaiting: number): Promise<number | null>;
  /** Takes calls that are due, the longest due first: each counts one try more and is the caller's until `until`. */
  takeDue(now: Date, until: Date, limit: number): Promise<OutgoingCall[]>;
  /** Keeps one that was taken until `nextTryAt`; false when it is gone or somebody else has taken it since. */
  putOff(call: Pick<OutgoingCall, "id" | "attempts">, nextTryAt: Date): Promise<boolean>;
  /** When the next one is due; null when none waits. */
  nextDue(): Promise<Date | null>;
  delete(id: number): Promise<void>;
  count(): Promise<number>;
}
