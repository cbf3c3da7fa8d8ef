import type { ProviderName } from "../git-host/hosts.ts";
import type { ConfiguredProof } from "../git-host/proof/proof.ts";
import type { StageName } from "./stage/stage-name.ts";

export const eventNames = ["push", "tag", "merge_request"] as const;
export type EventName = (typeof eventNames)[number];

/** How a generic sender is authenticated; `standard` is the signature of Standard Webhooks. */
export const verifyModes = ["token", "hmac", "standard"] as const;

export const repositoryChecks = ["warn", "enforce"] as const;
export type RepositoryCheck = (typeof repositoryChecks)[number];

/** Trigger scope of a task: missing booleans mean true; `fromStage` drops the stages before it. */
export interface Actions extends Partial<Record<StageName, boolean>> {
  fromStage?: StageName | null;
}

/** Webhook configuration of a project: the fields of the specification, then our additions. */
export interface WebhookConfig extends ConfiguredProof {
  projectId: number;
  /** hookKey: 48 hex characters; null until first saved with enabled. */
  key: string | null;
  enabled: boolean;
  provider: ProviderName;
  /** Ciphertext; null means no verification. */
  secret: string | null;
  events: EventName[];
  branchFilter: string[];
  tagFilter: string[];
  pathFilter: string[];
  refSource: "project" | "webhook";
  actions: Actions | null;
  /** For merge requests; null: `actions`. */
  mergeRequestActions: Actions | null;
  queuePolicy: "always" | "skip";
  /** Null: webhook.debounceSeconds. */
  debounceSeconds: number | null;
  skipCiKeyword: string;
  /** Further keywords with the same effect. */
  moreSkipKeywords: string[];
  debounceScope: "project" | "ref";
  allowForks: boolean;
  /** What happens to a delivery that names another repository than the project's. */
  repositoryCheck: RepositoryCheck;
  /** Ciphertext of a second secret that is accepted too until `secondSecretUntil`. */
  secondSecret: string | null;
  secondSecretUntil: Date | null;
  updatedAt: Date;
}

export const webhookDefaults = {
  enabled: false,
  provider: "generic",
  secretHeader: "X-CICD-Token",
  secretQuery: "secret",
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
  skipCiKeyword: "[skip ci]",
  moreSkipKeywords: [],
  debounceScope: "project",
  allowForks: false,
  repositoryCheck: "warn",
} as const satisfies Partial<{
  [K in keyof WebhookConfig]: WebhookConfig[K] extends readonly (infer E)[] ? readonly E[] : WebhookConfig[K];
}>;

/** The configuration with every empty value that stands for a default replaced by that default. */
export function inForce(config: WebhookConfig): WebhookConfig {
  return {
    ...config,
    secretHeader: config.secretHeader.trim() || webhookDefaults.secretHeader,
    secretQuery: config.secretQuery.trim() || webhookDefaults.secretQuery,
    events: config.events.length === 0 ? [...webhookDefaults.events] : config.events,
    skipCiKeyword: config.skipCiKeyword.trim() === "" ? webhookDefaults.skipCiKeyword : config.skipCiKeyword,
  };
}

/** Reads return configurations as they are in force. */
export interface WebhookConfigKeeper {
  ofProject(projectId: number): Promise<WebhookConfig | null>;
  byKey(key: string): Promise<WebhookConfig | null>;
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
