import { sql } from "kysely";
import { defaultTargetName, reservedSecrets } from "../../model/sealed.ts";
import {
  inForce,
  type WebhookConfig,
  type WebhookConfigKeeper,
  webhookConfigSchema,
} from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import { hashToken } from "../../secrets.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { inTransaction, longRead } from "../query/keeper-call.ts";
import type { StoredRow } from "../query/row.ts";
import { fieldsOf } from "../query/schema-fields.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";
import { projects } from "./project-table.ts";

const configs = table<WebhookConfig, "webhook_configs">("webhook_configs", fieldsOf(webhookConfigSchema));

type ProjectRow = StoredRow & { status_tokens: number; default_target: string | null };

/** No column of one table has the name of a column of the other. */
const selectByKey = fixedQuery<{ key: string }, StoredRow>(
  ["key"],
  (_, { key }) => sql`select projects.*, webhook_configs.* from webhook_configs
    join projects on projects.id = webhook_configs.project_id where webhook_configs.key = ${key}`,
);

const selectWithProject = fixedQuery<{ project_id: number }, ProjectRow>(
  ["project_id"],
  (_, { project_id }) => sql`select projects.*, webhook_configs.*,
    (select count(*) from project_secrets where project_secrets.project_id = projects.id
      and project_secrets.name = ${sql.lit(reservedSecrets.status)}) as status_tokens,
    (select value from meta where meta.name = ${sql.lit(defaultTargetName)}) as default_target
    from projects left join webhook_configs on webhook_configs.project_id = projects.id
    where projects.id = ${project_id}`,
);

export function buildWebhookConfigKeeper(scope: Scope): WebhookConfigKeeper {
  const { db, dialect } = scope;
  return {
    ofProject: async (projectId) => inForceOf(await configs.one(scope, { projectId })),
    async byKey(key) {
      const [row] = await selectByKey(scope, { key });
      return row === undefined ? null : { config: inForce(configs.read(row)), project: projects.read(row) };
    },
    async withProject(projectId) {
      const [row] = await selectWithProject(scope, { project_id: projectId });
      if (row === undefined) return null;
      return {
        project: projects.read(row),
        config: typeof row.project_id === "number" ? inForce(configs.read(row)) : null,
        hasStatusToken: row.status_tokens > 0,
        defaultTarget: row.default_target,
      };
    },
    save: inTransaction((config) => save(scope, config)),
    unsigned: longRead(async (visibleProjectIds, limit) => {
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
    }),
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
