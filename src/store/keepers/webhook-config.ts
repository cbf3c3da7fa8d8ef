import { inForce, type WebhookConfig, type WebhookConfigKeeper } from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import { hashToken } from "../../secrets.ts";
import { flag, json, optional, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const configs = table<WebhookConfig, "webhook_configs">("webhook_configs", {
  projectId: plain(),
  key: plain(),
  enabled: flag,
  provider: plain(),
  secret: plain(),
  secretHeader: plain(),
  secretQuery: plain(),
  verifyMode: plain(),
  signaturePrefix: plain(),
  signatureEncoding: plain(),
  events: json(),
  branchFilter: json(),
  tagFilter: json(),
  pathFilter: json(),
  refSource: plain(),
  actions: optional(json()),
  mergeRequestActions: optional(json()),
  queuePolicy: plain(),
  debounceSeconds: plain(),
  skipCiKeyword: plain(),
  moreSkipKeywords: json(),
  debounceScope: plain(),
  allowForks: flag,
  repositoryCheck: plain(),
  secondSecret: plain(),
  secondSecretUntil: optional(time),
  updatedAt: time,
});

export function buildWebhookConfigKeeper(scope: Scope): WebhookConfigKeeper {
  const { db, dialect } = scope;
  return {
    ofProject: async (projectId) => inForceOf(await configs.one(scope, { projectId })),
    byKey: async (key) => inForceOf(await configs.one(scope, { key })),
    save: (config) => save(scope, config),
    async unsigned(visibleProjectIds, limit) {
      const found = db
        .selectFrom("webhook_configs")
        .innerJoin("projects", "projects.id", "webhook_configs.project_id")
        .where("webhook_configs.enabled", "=", 1)
        .where("webhook_configs.secret", "is", null)
        .$if(visibleProjectIds !== undefined, (query) =>
          query.where(dialect.isAmong("project_id", visibleProjectIds ?? [])),
        );
      const items = await found
        .select(["projects.id as projectId", "projects.name as projectName"])
        .orderBy("projects.name")
        .orderBy("projects.id")
        .limit(limit)
        .execute();
      const counted = await found.select((eb) => eb.fn.countAll<number>().as("total")).executeTakeFirst();
      return { items, total: Number(counted?.total ?? 0) };
    },
    async formerProjectOf(key) {
      const row = await db
        .selectFrom("former_keys")
        .select("project_id")
        .where("key_hash", "=", hashToken(key))
        .executeTakeFirst();
      return row?.project_id ?? null;
    },
  };
}

function inForceOf(config: WebhookConfig | null): WebhookConfig | null {
  return config && inForce(config);
}

/** A former key is only looked up, never shown: its hash is sufficient, and a stolen database does not reveal it. */
async function save(scope: Scope, config: WebhookConfig): Promise<void> {
  const { db } = scope;
  const before = await configs.one(scope, { projectId: config.projectId });
  await configs.put(scope, ["projectId"], config, {
    duplicate: newReason("key_taken"),
    missing: newReason("gone_project", { id: config.projectId }),
  });
  const formerKey = before?.key ?? null;
  if (formerKey === null || formerKey === config.key) return;
  await db
    .insertInto("former_keys")
    .values({
      key_hash: hashToken(formerKey),
      project_id: config.projectId,
      replaced_at: config.updatedAt.getTime(),
    })
    .onConflict((conflict) => conflict.column("key_hash").doNothing())
    .execute();
}
