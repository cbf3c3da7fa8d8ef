import { z } from "zod";
import { eventNames } from "../git-host/delivery/event.ts";
import { providerNames } from "../git-host/hosts.ts";
import { keptOfGeneric } from "../git-host/kept-headers.ts";
import { ruleText } from "../reason/rule-text.ts";
import { text } from "../reason/schema-forms.ts";
import type { Project } from "./project.ts";
import { actionsSchema } from "./stage/actions.ts";

/*
 * The webhook of a project. From the schemas here derive its type, its columns, and the body and the answer of the API with
 * their documents and the types of the console. A new field is added to `webhookSettings` and `webhookDefaults`, gets a column
 * by a migration, and is read where it has its effect.
 */

export type EventName = (typeof eventNames)[number];

/** White space alone is always a mistake; of nothing at all, each field says what it means. */
export const isNotBlank = (value: string) => value === "" || value.trim() !== "";

const glob = text(256, 1)
  .refine(isNotBlank, ruleText("blank"))
  .refine((value) => !/[^\P{Cc}\0]/u.test(value), ruleText("control_characters"))
  .meta({ example: "release/**" });

const globs = z.array(glob).max(100).meta({
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

const defaultHeader = "X-CICD-Token";
const defaultParameter = "secret";
const defaultSkipKeyword = "[skip ci]";

/** What users set. */
export const webhookSettings = z.object({
  enabled: z.boolean(),
  provider: z.enum(providerNames),
  secretHeader: text(64)
    .refine((value) => value.trim() === "" || /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value.trim()), {
      message: ruleText("header_name_letters"),
    })
    .refine((value) => !reservedHeaders.includes(value.trim().toLowerCase()), {
      message: ruleText("header_reserved", { headers: reservedHeaders.join(", ") }),
    })
    .meta({
      description: `Blank: ${defaultHeader}. None of ${reservedHeaders.join(", ")}: those are the server's own, or stand in records.`,
    }),
  secretQuery: text(64)
    .refine((value) => value.trim() === "" || /^[\w.~-]+$/.test(value.trim()), {
      message: ruleText("parameter_name"),
    })
    .meta({ description: `Blank: ${defaultParameter}.` }),
  /** How a generic sender is authenticated; `standard` is the signature of Standard Webhooks. */
  verifyMode: z.enum(["token", "hmac", "standard"]),
  signaturePrefix: text(64),
  signatureEncoding: z.enum(["hex", "base64"]),
  events: z.array(z.enum(eventNames)).max(eventNames.length).meta({
    description: "Events that start a task. Empty: `push`; answers name it.",
  }),
  branchFilter: globs,
  tagFilter: globs,
  pathFilter: globs,
  refSource: z.enum(["project", "webhook"]),
  actions: actionsSchema.nullable(),
  mergeRequestActions: actionsSchema.nullable().meta({ description: "For merge requests; null: `actions`." }),
  queuePolicy: z.enum(["always", "skip"]),
  /** Null: the setting webhook.debounceSeconds. */
  debounceSeconds: z.number().int().min(0).max(86_400).nullable(),
  skipCiKeyword: text(100).meta({
    description: `A commit whose message contains it is skipped. Blank: \`${defaultSkipKeyword}\`; answers name it.`,
  }),
  moreSkipKeywords: z
    .array(text(100, 1).refine((keyword) => keyword.trim() !== "", ruleText("blank")))
    .max(20)
    .meta({ description: "Further keywords with the same effect, such as `[ci skip]`." }),
  debounceScope: z.enum(["project", "ref"]),
  allowForks: z.boolean(),
  repositoryCheck: z.enum(["warn", "enforce"]).meta({
    description:
      "A delivery that names another repository than the project's: `warn` notes it in the trace, `enforce` ignores the delivery (`repository_mismatch`).",
  }),
});
export type WebhookSettings = z.infer<typeof webhookSettings>;
export type RepositoryCheck = WebhookSettings["repositoryCheck"];

/** The settings with what the server keeps of a webhook. Secrets are ciphertexts. */
export const webhookConfigSchema = webhookSettings.extend({
  projectId: z.number().int(),
  /** hookKey: 48 hex characters; null until first saved with enabled. */
  key: z.string().nullable(),
  /** Null means no verification. */
  secret: z.string().nullable(),
  /** It is accepted too until `secondSecretUntil`. */
  secondSecret: z.string().nullable(),
  secondSecretUntil: z.date().nullable(),
  updatedAt: z.date(),
});
export type WebhookConfig = z.infer<typeof webhookConfigSchema>;

export const webhookDefaults: Readonly<WebhookSettings> = {
  enabled: false,
  provider: "generic",
  secretHeader: defaultHeader,
  secretQuery: defaultParameter,
  verifyMode: "token",
  signaturePrefix: "",
  signatureEncoding: "hex",
  events: ["push"],
  branchFilter: [],
  tagFilter: [],
  pathFilter: [],
  refSource: "webhook",
  actions: null,
  mergeRequestActions: null,
  queuePolicy: "always",
  debounceSeconds: null,
  skipCiKeyword: defaultSkipKeyword,
  moreSkipKeywords: [],
  debounceScope: "project",
  allowForks: false,
  repositoryCheck: "warn",
};

/** The configuration with every empty value that stands for a default replaced by that default. */
export function inForce<T extends WebhookSettings>(config: T): T {
  return {
    ...config,
    secretHeader: config.secretHeader.trim() || webhookDefaults.secretHeader,
    secretQuery: config.secretQuery.trim() || webhookDefaults.secretQuery,
    events: config.events.length === 0 ? [...webhookDefaults.events] : config.events,
    skipCiKeyword: config.skipCiKeyword.trim() === "" ? webhookDefaults.skipCiKeyword : config.skipCiKeyword,
  };
}

export interface ProjectWebhook {
  project: Project;
  /** Null: it was never saved. */
  config: WebhookConfig | null;
  /** Whether a token for commit statuses is stored. */
  hasStatusToken: boolean;
  /** The default notification target as it is stored; null: there is none. */
  defaultTarget: string | null;
}

/** Reads return configurations as they are in force. */
export interface WebhookConfigKeeper {
  ofProject(projectId: number): Promise<WebhookConfig | null>;
  byKey(key: string): Promise<{ config: WebhookConfig; project: Project } | null>;
  /** The webhook of a project, beside the project itself; null: there is no such project. */
  withProject(projectId: number): Promise<ProjectWebhook | null>;
  /** Inserts or replaces. The hash of a replaced key is stored as a former key of the project. */
  save(config: WebhookConfig): Promise<void>;
  /**
   * At most `limit` projects whose webhook is enabled without a secret, by name, and their total number. Without
   * `visibleProjectIds`: of all projects.
   */
  unsigned(
    visibleProjectIds: readonly number[] | undefined,
    limit: number,
  ): Promise<{ items: { projectId: number; projectName: string }[]; total: number }>;
  /** Project whose former key this was. */
  formerProjectOf(key: string): Promise<number | null>;
}
