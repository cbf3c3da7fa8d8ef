import { shownApproval } from "../../model/approval/task-approval.ts";
import type { Manager } from "../../model/permission.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import type { Approvers } from "../../task/approval/approvers.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { text } from "./scalars.ts";
import { strict, z } from "./shape.ts";

/** More people than a reader looks at. */
const maxListed = 50;

const personShape = z.object({ username: z.string(), isAdmin: z.boolean() });

export function approversJson({ may, excluded, needsReason }: Approvers) {
  return {
    mayApprove: may.slice(0, maxListed).map(personJson),
    excluded: excluded.slice(0, maxListed).map(({ because, ...person }) => ({
      ...personJson(person),
      ...reasonJson({ because }),
    })),
    needsReason,
  };
}

function personJson({ username, isAdmin }: Manager) {
  return { username, isAdmin };
}

export const approvalShape = shownApproval
  .extend({
    mayApprove: z
      .array(personShape)
      .optional()
      .openapi({ description: `Of a single task that waits: who may approve it, at most ${maxListed}.` }),
    excluded: z
      .array(personShape.extend({ because: z.string(), becauseParts: reasonPartsShape }))
      .optional()
      .openapi({
        description: `Of a single task that waits: managers who may not, at most ${maxListed}, and why.`,
      }),
    needsReason: z.boolean().optional().openapi({
      description:
        "Of a single task that waits: nobody may approve it. An administrator may, with a reason of at least five characters in `comment`.",
    }),
  })
  .nullable()
  .openapi({ description: "Null: the task needs no approval." });

export const answerBody = strict({ comment: text(500).default("") });
