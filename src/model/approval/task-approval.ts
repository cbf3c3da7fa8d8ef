import { z } from "zod";
import type { Project } from "../project.ts";

/** What version 1.0 did not pin: a request that it stored uses the project's. */
type PinnedLater = "name" | "isolation" | "needsContainer" | "limits";

/** What an approval is about: these values are used, whatever the project says later. */
export type Pinned = Pick<Project, "git" | "pipeline" | "env" | "image"> &
  Partial<Pick<Project, PinnedLater>>;

const time = z.string().nullable();

/** What people see of an approval. Times are ISO 8601. */
export const shownApproval = z.object({
  /** `building`: approval is requested as soon as the build has succeeded. */
  state: z.enum(["building", "waiting", "approved", "rejected", "expired"]),
  notByPusher: z.boolean(),
  requestedAt: time,
  expiresAt: time,
  /** The person who approved or rejected it. */
  by: z.string().nullable(),
  at: time,
  comment: z.string(),
  override: z.boolean().optional().meta({
    description:
      "Nobody was left who may approve it, and an administrator did; `comment` is the written reason.",
  }),
});

const taskApproval = shownApproval.extend({
  expiresAfterMinutes: z.number(),
  /** Time in which the started task waited for answers to earlier requests. Absent: there were none. */
  earlierWaitMs: z.number().optional(),
  pinned: z.custom<Pinned>(),
  /** The newest entry of the audit log when it was pinned. Absent: stored by version 1.0. */
  auditId: z.number().optional(),
  /** Names of the secrets that the scripts got when it was requested. */
  secretNames: z.array(z.string()),
  /** The workspace that is deployed, and the runner that has it; null: not built yet. */
  built: z.object({ taskId: z.number(), attempt: z.number(), runnerId: z.number() }).nullable(),
  /** Attempts of the task before its current step, build or deploy: each step has its own repeat. Absent: those up to `built`. */
  earlierAttempts: z.number().optional(),
});
export type TaskApproval = z.infer<typeof taskApproval>;
