import { inForce, type WebhookConfig, type WebhookConfigKeeper } from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import { hashToken } from "../../secrets.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { flag, json, optional, plain, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<WebhookConfig, "webhook_configs">({
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

const selectOfProject = fixedQuery(["project_id"], (db, { project_id }: { project_id: number }) =>
  db.selectFrom("webhook_configs").selectAll().where("project_id", "=", project_id),
);
const selectByKey = fixedQuery(["key"], (db, { key }: { key: string }) =>
  db.selectFrom("webhook_configs").selectAll().where("key", "=", key),
);

export function buildWebhookConfigKeeper(scope: Scope): WebhookConfigKeeper {
  const { db, dialect } = scope;
  return {
    async ofProject(projectId) {
      const [row] = await selectOfProject(scope, { project_id: projectId });
      return row === undefined ? null : inForce(shape.read(row));
    },
    async byKey(key) {
      const [row] = await selectByKey(scope, { key });
      return row === undefined ? null : inForce(shape.read(row));
    },
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

/** A former key is only looked up, never shown: its hash is sufficient, and a stolen database does not reveal it. */
async function save({ db, dialect }: Scope, config: WebhookConfig): Promise<void> {
  const before = await db
    .selectFrom("webhook_configs")
    .select("key")
    .where("project_id", "=", config.projectId)
    .executeTakeFirst();
  const row = shape.insert(config);
  const insert = db
    .insertInto("webhook_configs")
    .values(row)
    .onConflict((conflict) => conflict.column("project_id").doUpdateSet(row));
  await orFault(dialect, insert.execute(), {
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
