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
  /** Limit of calls of all projects; beyond it the project with the most calls loses one to a project with fewer. */
  total: number;
  /** Limit of calls of one project to one address. */
  perTarget: number;
}

export interface AddedCall {
  /** Null: the limit is reached. */
  id: number | null;
  /** The call that was dropped for this one. */
  dropped: OutgoingCall | null;
  /** Older calls of its subject that were not delivered yet; another instance may be sending one now. */
  replaced: Pick<OutgoingCall, "id" | "attempts">[];
}

export interface TakenShare {
  perProject: number;
  except: readonly number[];
}

export interface OutgoingCallKeeper {
  /** Stores a call and replaces older ones of its subject, if the limits allow it. */
  add(call: Omit<OutgoingCall, "id">, limits: OutgoingLimits): Promise<AddedCall>;
  /**
   * Claims due calls until `until`, the longest due first, at most `perProject` of each project and none of `except`. Each
   * counts as one more attempt.
   */
  takeDue(now: Date, until: Date, limit: number, share?: TakenShare): Promise<OutgoingCall[]>;
  /** Keeps one that was taken until `nextTryAt`; false when it is gone or somebody else has taken it since. */
  putOff(call: Pick<OutgoingCall, "id" | "attempts">, nextTryAt: Date): Promise<boolean>;
  /** When the next one is due; null when none waits. */
  nextDue(): Promise<Date | null>;
  delete(id: number): Promise<void>;
  count(): Promise<number>;
}
