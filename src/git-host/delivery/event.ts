import { z } from "zod";
import { reasonSchema } from "../../reason/schema-forms.ts";

export const eventNames = ["push", "tag", "merge_request"] as const;

/** The change of one ref by a push. */
export const refChange = z.object({
  event: z.enum(eventNames).nullable(),
  /** Full ref where known: refs/heads/main, refs/tags/v1. */
  rawRef: z.string(),
  /** Short name. */
  ref: z.string(),
  refType: z.enum(["branch", "tag"]).nullable(),
  commit: z.string().nullable(),
  /** Whole message of the head commit (merge request: title, then message). */
  message: z.string(),
  /** Why the event can build nothing, whatever the rules of the project; null if it can build. */
  skip: z
    .object({ code: z.enum(["probe", "ref_deleted", "event_not_allowed"]), reason: reasonSchema })
    .nullable(),
});
export type RefChange = z.infer<typeof refChange>;

/** The content of a payload, in one shape for all Git hosts. */
export const normalizedEvent = refChange.extend({
  /** Name of the event as the host sent it. */
  rawEvent: z.string(),
  tagObject: z.string().optional().meta({
    description: "What the ref itself names where that is not the commit: the object of an annotated tag.",
  }),
  author: z.string(),
  /** Null: unknown (absent or known to be incomplete). */
  paths: z.array(z.string()).nullable(),
  pathsUnknownBecause: reasonSchema.nullable(),
  /** The host can be asked for the rest. */
  before: z.string().optional().meta({
    description: "The commit before the push, if the host did not list all of its commits.",
  }),
  mergeRequest: z
    .object({
      action: z.string().nullable(),
      title: z.string(),
      sourceBranch: z.string(),
      targetBranch: z.string(),
      fromFork: z.boolean(),
      /** Absent where the host names none. */
      number: z.string().optional(),
      isMerged: z.boolean().optional(),
    })
    .nullable(),
  /** The host's own delivery id. */
  hostDeliveryId: z.string().nullable(),
  repository: z
    .array(z.string())
    .optional()
    .meta({ description: "Addresses of the repository, as the host names it." }),
  sentBy: z
    .array(z.string())
    .optional()
    .meta({ description: "Users who sent it by hand, as a test or a replay." }),
  /** The other refs of a push that names several. */
  otherRefs: z.array(refChange).optional(),
});
export type NormalizedEvent = z.infer<typeof normalizedEvent>;
