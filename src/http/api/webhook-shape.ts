import type { Project } from "../../model/project.ts";
import { type PollState, pollState } from "../../model/ref-tip.ts";
import { actionsBody } from "../../model/stage/actions.ts";
import {
  isNotBlank,
  type WebhookConfig,
  webhookDefaults,
  webhookSettings,
} from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { revisionOf } from "../../revision.ts";
import type { WebhookManagement } from "../../webhook/management.ts";
import type { WebhookChange } from "../../webhook/save-webhook.ts";
import { reasonPartsShape, warningPartsShape, withWarnings } from "./reason-shape.ts";
import { revision } from "./revision.ts";
import { answered, bodyTime, id, text, time } from "./scalars.ts";
import { onlyGiven, strict, z } from "./shape.ts";

const pollShape = z
  .object({ ...answered(pollState), errorParts: reasonPartsShape, noteParts: reasonPartsShape })
  .nullable()
  .openapi({
    description:
      "The poll of the repository, which finds pushes that no delivery reported. Null: `webhook.reconcileMinutes` is 0, the webhook is not enabled, or the project has no repository.",
  });

export const webhookShape = z
  .object({
    projectId: id,
    url: z.string().nullable().openapi({ description: "Null until first enabled." }),
    key: z.string().nullable(),
    baseUrlConfigured: z.boolean(),
    secretSet: z.boolean(),
    secondSecretSet: z.boolean(),
    secondSecretUntil: time.nullable(),
    ...webhookSettings.shape,
    effectiveDebounceSeconds: z.number().int(),
    warnings: z.array(z.string()),
    warningParts: warningPartsShape,
    poll: pollShape,
    revision,
    updatedAt: time,
  })
  .openapi("Webhook");

export type WebhookAnswer = z.infer<typeof webhookShape>;

const secret = text(1024)
  .refine(isNotBlank, ruleText("blank"))
  .openapi({ description: "Empty or null keeps the stored one. Never returned." });

const secretFields = {
  secret: secret.nullable().optional(),
  clearSecret: z.boolean().optional(),
  secondSecret: secret.nullable().optional(),
  clearSecondSecret: z.boolean().optional(),
  secondSecretUntil: bodyTime.nullable().optional(),
};

type Settings = typeof webhookSettings.shape;
/** What GET answers and PUT does not take: sent back unchanged by clients that save what they read. */
type ReadOnly = Exclude<keyof typeof webhookShape.shape, keyof Settings | keyof typeof secretFields>;
export const readOnlyNames = Object.keys(webhookShape.shape).filter(
  (name) => !(name in webhookSettings.shape || name in secretFields),
);
const readOnly = Object.fromEntries(
  readOnlyNames.map((name) => [name, z.unknown().optional().openapi({ description: "Read-only; ignored." })]),
) as Record<ReadOnly, z.ZodOptional<z.ZodUnknown>>;

/** Null is how many clients write "nothing": texts and lists then go back to their defaults. */
type Clearable<F> = F extends z.ZodString | z.ZodArray ? z.ZodNullable<F> : F;
const clearable = Object.fromEntries(
  Object.entries(webhookSettings.shape).map(([name, field]) => {
    const isCleared = field instanceof z.ZodString || field instanceof z.ZodArray;
    return [name, (isCleared ? field.nullable() : field).optional()];
  }),
) as { [K in keyof Settings]: z.ZodOptional<Clearable<Settings[K]>> };

/** A change of the configuration: every field may be left out. */
export const webhookBody = strict({
  ...clearable,
  actions: actionsBody.nullable().optional(),
  mergeRequestActions: actionsBody
    .nullable()
    .meta({ description: "For merge requests; null: `actions`." })
    .optional(),
  ...secretFields,
  ...readOnly,
}).openapi("WebhookChange");

const defaults: Record<string, unknown> = webhookDefaults;

export function changeOf(body: z.output<typeof webhookBody>): WebhookChange {
  const { secret: first, secondSecret, secondSecretUntil, ...rest } = body;
  const settable = Object.fromEntries(
    Object.entries(rest)
      .filter(([name]) => !readOnlyNames.includes(name))
      .map(([name, value]) => [name, value === null ? defaults[name] : value]),
  );
  return onlyGiven({
    ...settable,
    secret: first ?? undefined,
    secondSecret: secondSecret ?? undefined,
    secondSecretUntil:
      typeof secondSecretUntil === "string" ? new Date(secondSecretUntil) : secondSecretUntil,
  }) as WebhookChange;
}

/** Secrets enter by their ciphertext, which differs after each save. */
export function webhookRevision({ updatedAt: _, ...config }: WebhookConfig): string {
  return revisionOf(Object.entries(config).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export async function webhookJson(
  config: WebhookConfig,
  project: Project,
  management: WebhookManagement,
  poll: PollState | null,
) {
  const { secret: first, secondSecret, secondSecretUntil, updatedAt, ...rest } = config;
  const warnings = [
    ...(await management.warningsOf(config, project)),
    ...(poll?.error ? [newReason("warn_not_polled", { why: poll.error })] : []),
  ];
  return {
    ...rest,
    ...management.endpointOf(config),
    secretSet: first !== null,
    secondSecretSet: secondSecret !== null,
    secondSecretUntil: secondSecretUntil?.toISOString() ?? null,
    effectiveDebounceSeconds: management.effectiveDebounceSeconds(config),
    ...withWarnings(warnings),
    poll: poll && {
      ...poll,
      ...reasonJson({ error: poll.error, note: poll.note }),
      lastAt: poll.lastAt?.toISOString() ?? null,
      nextAt: poll.nextAt?.toISOString() ?? null,
    },
    revision: webhookRevision(config),
    updatedAt: updatedAt.toISOString(),
  };
}
