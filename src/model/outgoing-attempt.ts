import type { Reason } from "../reason/reason.ts";
import type { OutgoingCall } from "./outgoing-call.ts";

/** One attempt to send a notification or a commit status, kept for the managers of a project. */
export interface OutgoingAttempt {
  id: number;
  projectId: number;
  at: Date;
  kind: OutgoingCall["kind"];
  event: string;
  targetId: string | null;
  host: string;
  /** From 1. */
  attempt: number;
  isDelivered: boolean;
  /** HTTP status; null when there was no answer. */
  status: number | null;
  /** Why it was not delivered; empty when it was. */
  fault: Reason;
  /** First characters of the answer. */
  response: string;
}

export interface OutgoingAttemptKeeper {
  /** Stores an attempt and deletes all but the newest `keep` of its project. */
  add(attempt: Omit<OutgoingAttempt, "id">, keep: number): Promise<void>;
  /** Newest first. */
  ofProject(projectId: number): Promise<OutgoingAttempt[]>;
}
