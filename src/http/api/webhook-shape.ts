import { providerNames } from "../../git-host/hosts.ts";
import { keptOfGeneric } from "../../git-host/kept-headers.ts";
import type { Project } from "../../model/project.ts";
import {
  eventNames,
  repositoryChecks,
  verifyModes,
  type WebhookConfig,
  webhookDefaults,
} from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { revisionOf } from "../../revision.ts";
import type { WebhookManagement } from "../../webhook/management.ts";
import type { PollState } from "../../webhook/poll/poller.ts";
import type { WebhookChange } from "../../webhook/save-webhook.ts";
import { reasonPartsShape, warningPartsShape, withWarnings } from "./reason-shape.ts";
import { revision } from "./revision.ts";
import { bodyTime, id, text, time } from "./scalars.ts";
import { onlyGiven, strict, z } from "./shape.ts";
import { actionsBody, actionsShape } from "./task-shape.ts";

const maxPatterns = 100;
const maxPatternLength = 256;

/** White space alone is always a mistake; of nothing at all, each field says what it means. */
const isNotBlank = (value: string) => value === "" || value.trim() !== "";

const glob = text(maxPatternLength, 1)
  .refine(isNotBlank, ruleText("blank"))
  .refine((value) => !/[^\P{Cc}\0]/u.test(value), ruleText("control_characters"))
  .openapi({ example: "release/**" });

const globs = z.array(glob).max(maxPatterns).openapi({
  description:
    "`*` any characters except `/`, `**` across levels, `**/` zero or more levels, `?` one character.",
});

/** Headers that the server itself understands cannot carry a secret as well; those that records keep must not. */
const reservedHeaders = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  ...keptOfGeneric,
];

const headerName = text(64)
  .refine((value) => value.trim() === "" || /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value.trim()), {
    message: ruleText("header_name_letters"),
  })
  .refine((value) => !reservedHeaders.includes(value.trim().toLowerCase()), {
    message: ruleText("header_reserved", { headers: reservedHeaders.join(", ") }),
  })
  .openapi({
    description: `Blank: ${webhookDefaults.secretHeader}. None of ${reservedHeaders.join(", ")}: those are the server's own, or stand in records.`,
  });

const queryName = text(64)
  .refine((value) => value.trim() === "" || /^[\w.~-]+$/.test(value.trim()), {
    message: ruleText("parameter_name"),
  })
  .openapi({ description: `Blank: ${webhookDefaults.secretQuery}.` });

const actions = actionsBody.transform(onlyGiven).nullable();

const secret = text(1024)
  .refine(isNotBlank, ruleText("blank"))
  .openapi({ description: "Empty or null keeps the stored one. Never returned." });

/** What GET answers and PUT does not take: sent back unchanged by clients that save what they read. */
const readOnlyNames = [
  "projectId",
  "url",
  "key",
  "baseUrlConfigured",
  "secretSet",
  "secondSecretSet",
  "effectiveDebounceSeconds",
  "warnings",
  "warningParts",
  "poll",
  "revision",
  "updatedAt",
] as const;
const readOnly = Object.fromEntries(
  readOnlyNames.map((name) => [name, z.unknown().optional().openapi({ description: "Read-only; ignored." })]),
) as Record<(typeof readOnlyNames)[number], z.ZodOptional<z.ZodUnknown>>;

const fields = {
  enabled: z.boolean(),
  provider: z.enum(providerNames),
  secretHeader: headerName,
  secretQuery: queryName,
  verifyMode: z.enum(verifyModes),
  signaturePrefix: text(64),
  signatureEncoding: z.enum(["hex", "base64"]),
  events: z.array(z.enum(eventNames)).max(eventNames.length).openapi({
    description: "Events that start a task. Empty: `push`; answers name it.",
  }),
  branchFilter: globs,
  tagFilter: globs,
  pathFilter: globs,
  refSource: z.enum(["project", "webhook"]),
  actions,
  mergeRequestActions: actions.openapi({ description: "For merge requests; null: `actions`." }),
  queuePolicy: z.enum(["always", "skip"]),
  debounceSeconds: z.number().int().min(0).max(86_400).nullable(),
  skipCiKeyword: text(100).openapi({
    description: `A commit whose message contains it is skipped. Blank: \`${webhookDefaults.skipCiKeyword}\`; answers name it.`,
  }),
  moreSkipKeywords: z
    .array(text(100, 1).refine((keyword) => keyword.trim() !== "", ruleText("blank")))
    .max(20)
    .openapi({ description: "Further keywords with the same effect, such as `[ci skip]`." }),
  debounceScope: z.enum(["project", "ref"]),
  allowForks: z.boolean(),
  repositoryCheck: z.enum(repositoryChecks).openapi({
    description:
      "A delivery that names another repository than the project's: `warn` notes it in the trace, `enforce` ignores the delivery (`repository_mismatch`).",
  }),
};

/** Null is how many clients write "nothing": texts and lists then go back to their defaults. */
const clearable = z
  .object(fields)
  .pick({
    secretHeader: true,
    secretQuery: true,
    signaturePrefix: true,
    skipCiKeyword: true,
    events: true,
    branchFilter: true,
    tagFilter: true,
    pathFilter: true,
    moreSkipKeywords: true,
  })
  .partial();

const defaults: Record<string, unknown> = webhookDefaults;

/** A change of the configuration: every field may be left out. */
export const webhookBody = strict({
  ...z.object(fields).partial().shape,
  ...nullable(clearable.shape),
  secret: secret.nullable().optional(),
  clearSecret: z.boolean().optional(),
  secondSecret: secret.nullable().optional(),
  clearSecondSecret: z.boolean().optional(),
  secondSecretUntil: bodyTime.nullable().optional(),
  ...readOnly,
}).openapi("WebhookChange");

function nullable<S extends Record<string, z.ZodType>>(shape: S) {
  const entries = Object.entries(shape).map(([name, field]) => [name, field.nullable()]);
  return Object.fromEntries(entries) as { [K in keyof S]: z.ZodNullable<S[K]> };
}

export function changeOf(body: z.output<typeof webhookBody>): WebhookChange {
  const { secret: first, secondSecret, secondSecretUntil, ...rest } = body;
  const settable = Object.fromEntries(
    Object.entries(rest)
      .filter(([name]) => !(readOnlyNames as readonly string[]).includes(name))
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

const pollShape = z
  .object({
    everyMinutes: z.number(),
    lastAt: time.nullable(),
    nextAt: time.nullable().openapi({ description: "Null: at once." }),
    error: z.string().openapi({ description: "Why the last poll failed; empty: it did not." }),
    errorParts: reasonPartsShape,
    note: z.string().openapi({ description: "What the last poll left out; usually empty." }),
    noteParts: reasonPartsShape,
  })
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
    ...fields,
    actions: actionsShape,
    mergeRequestActions: actionsShape,
    effectiveDebounceSeconds: z.number().int(),
    warnings: z.array(z.string()),
    warningParts: warningPartsShape,
    poll: pollShape,
    revision,
    updatedAt: time,
  })
  .openapi("Webhook");

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
