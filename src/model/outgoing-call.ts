/** A stored HTTP call to an external service: a notification or a commit status. It is retried until it succeeds. */
export interface OutgoingCall {
  id: number;
  projectId: number;
  /** For logs and metrics. */
  kind: "notification" | "commit status";
  /** What it reports: the name of an event, or the state of a commit. */
  event: string;
  /** A later call with the same subject replaces a waiting one, because only the newest state matters. */
  subject: string | null;
  /** Of a notification only its origin: the address is a credential and is looked up for each attempt. */
  url: string;
  /** The notification target; null for a commit status. */
  targetId: string | null;
  /** The same in every attempt, so that a receiver detects duplicates. */
  messageId: string;
  /**
   * How the receiver recognises the sender: `signature` is the one of Standard Webhooks; a chat service and the API of a Git
   * host have their own rules. The secret itself is looked up for each attempt.
   */
  proof: string;
  body: string;
  /** The span of the task or delivery that it reports; null: it is not traced. */
  traceparent: string | null;
  /** Attempts that were started. */
  attempts: number;
  /** Until then the instance that started the last attempt holds the call. */
  nextTryAt: Date;
  createdAt: Date;
}

/** A call before it is stored. */
export type NewOutgoingCall = Omit<
  OutgoingCall,
  "id" | "attempts" | "nextTryAt" | "createdAt" | "traceparent"
>;

/** What the sender needs to know of a call before it claims it. */
export type CallAddress = Pick<OutgoingCall, "projectId" | "kind" | "subject" | "targetId" | "url">;

export interface OutgoingLimits {
  /** Limit of calls of all projects; beyond it the project with the most calls loses one to a project with fewer. */
  total: number;
  /** Limit of calls of one project to one target or address. */
  perTarget: number;
}

export interface AddedCall {
  call: CallAddress;
  /** Null: the limit is reached. */
  id: number | null;
  /** The call that was dropped for this one. */
  dropped: CallAddress | null;
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
  /** Claims a call for its first attempt; null: it was replaced, or another instance has claimed it. */
  takeFirst(id: number, until: Date): Promise<OutgoingCall | null>;
  /** Schedules the next attempt of a claimed call; false if it was deleted, or claimed by another instance meanwhile. */
  putOff(call: Pick<OutgoingCall, "id" | "attempts">, nextTryAt: Date): Promise<boolean>;
  /** Time of the next attempt; null if no call waits. */
  nextDue(): Promise<Date | null>;
  delete(id: number): Promise<void>;
  count(): Promise<number>;
}
