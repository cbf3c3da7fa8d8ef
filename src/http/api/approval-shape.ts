import type { DeployRule } from "../../model/approval/deploy-rule.ts";
import type { Manager } from "../../model/permission.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import type { Approvers } from "../../task/approval/approvers.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { text } from "./scalars.ts";
import { strict, z } from "./shape.ts";

const fields = {
  approval: z.enum(["none", "required"]).openapi({
    description: "`required`: a task is built, and waits before it deploys until a manager approves it.",
  }),
  branches: z
    .array(text(256, 1))
    .max(100)
    .openapi({ description: "Globs of the built refs that need it; empty: every ref.", example: ["main"] }),
  notByPusher: z.boolean().openapi({
    description:
      "The person who pushed or started the task, or who changed what it deploys since the approved release that serves, may not approve it.",
  }),
  expiresAfterMinutes: z.number().int().min(1).max(525_600),
};

export const deployRuleShape = z.object(fields).openapi("DeployRule");

export const deployRuleBody = strict(z.object(fields).partial().shape).openapi("DeployRuleChange", {
  description: "Omitted fields are unchanged. Only an administrator may make the rule weaker.",
});

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

export const approvalShape = z
  .object({
    state: z.enum(["building", "waiting", "approved", "rejected", "expired"]),
    notByPusher: z.boolean(),
    requestedAt: z.string().nullable(),
    expiresAt: z.string().nullable(),
    by: z.string().nullable(),
    at: z.string().nullable(),
    comment: z.string(),
    override: z.boolean().optional().openapi({
      description:
        "Nobody was left who may approve it, and an administrator did; `comment` is the written reason.",
    }),
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

export function mergeDeployRule(
  before: DeployRule,
  change: z.output<typeof deployRuleBody> | undefined,
): DeployRule {
  const given = Object.entries(change ?? {}).filter(([, value]) => value !== undefined);
  return { ...before, ...(Object.fromEntries(given) as Partial<DeployRule>) };
}
