import type { Project } from "../project.ts";

/** What version 1.0 did not pin: a request that it stored uses the project's. */
type PinnedLater = "name" | "isolation" | "needsContainer" | "limits";

/** What an approval is about: these values are used, whatever the project says later. */
export type Pinned = Pick<Project, "git" | "pipeline" | "env" | "image"> &
  Partial<Pick<Project, PinnedLater>>;

/** Times are ISO 8601. */
export interface TaskApproval {
  /** `building`: approval is requested as soon as the build has succeeded. */
  state: "building" | "waiting" | "approved" | "rejected" | "expired";
  notByPusher: boolean;
  expiresAfterMinutes: number;
  requestedAt: string | null;
  /** Time in which the started task waited for answers to earlier requests. Absent: there were none. */
  earlierWaitMs?: number;
  expiresAt: string | null;
  /** The person who approved or rejected it. */
  by: string | null;
  at: string | null;
  comment: string;
  /** Nobody was left who may approve it, and an administrator did, with `comment` as the reason. */
  override?: boolean;
  pinned: Pinned;
  /** The newest entry of the audit log when it was pinned. Absent: stored by version 1.0. */
  auditId?: number;
  /** Names of the secrets that the scripts got when it was requested. */
  secretNames: string[];
  /** The workspace that is deployed, and the runner that has it; null: not built yet. */
  built: { taskId: number; attempt: number; runnerId: number } | null;
  /** Attempts of the task before its current step, build or deploy: each step has its own repeat. Absent: those up to `built`. */
  earlierAttempts?: number;
}
