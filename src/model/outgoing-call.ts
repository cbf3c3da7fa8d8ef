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

export interface OutgoingLimits {
  /** Calls of all projects; when it is reached, the project with the most calls loses one to a project with fewer. */
  total: number;
  /** Calls of one project to one address. */
  perTarget: number;
}

export interface AddedCall {
  /** Null: no place for it. */
  id: number | null;
  /** The call that lost its place to this one. */
  dropped: OutgoingCall | null;
  /** Older calls of its subject that were not delivered yet; another instance may be sending one now. */
  replaced: Pick<OutgoingCall, "id" | "attempts">[];
}

export interface TakenShare {
  perProject: number;
  except: readonly number[];
}

export interface OutgoingCallKeeper {
  /** Stores a call in place of older ones of its subject, if its share of the places allows it. */
  add(call: Omit<OutgoingCall, "id">, limits: OutgoingLimits): Promise<AddedCall>;
  /**
   * Takes calls that are due, the longest due first, of each project at most `perProject` and none of `except`: each
   * counts one try more and is the caller's until `until`.
   */
  takeDue(now: Date, until: Date, limit: number, share?: TakenShare): Promise<OutgoingCall[]>;
  /** Keeps one that was taken until `nextTryAt`; false when it is gone or somebody else has taken it since. */
  putOff(call: Pick<OutgoingCall, "id" | "attempts">, nextTryAt: Date): Promise<boolean>;
  /** When the next one is due; null when none waits. */
  nextDue(): Promise<Date | null>;
  delete(id: number): Promise<void>;
  count(): Promise<number>;
}
