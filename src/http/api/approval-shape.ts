import type { DeployRule } from "../../model/approval/deploy-rule.ts";
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
  notByPusher: z
    .boolean()
    .openapi({ description: "The person who pushed or started the task may not approve it." }),
  expiresAfterMinutes: z.number().int().min(1).max(525_600),
};

export const deployRuleShape = z.object(fields).openapi("DeployRule");

export const deployRuleBody = strict(z.object(fields).partial().shape).openapi("DeployRuleChange", {
  description: "Omitted fields are unchanged. Only an administrator may make the rule weaker.",
});

export const approvalShape = z
  .object({
    state: z.enum(["building", "waiting", "approved", "rejected", "expired"]),
    notByPusher: z.boolean(),
    requestedAt: z.string().nullable(),
    expiresAt: z.string().nullable(),
    by: z.string().nullable(),
    at: z.string().nullable(),
    comment: z.string(),
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
