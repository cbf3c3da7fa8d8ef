import type { SecretKeeper } from "../../model/settings/stored-secret.ts";
import { newReason } from "../../reason/reason.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { orFault, type Scope } from "../query/scope.ts";

/** Who has secrets: the table of them, and the column that names the owner. */
const owners = {
  project: { table: "project_secrets", column: "project_id" },
  group: { table: "group_secrets", column: "group_id" },
} as const;
type Owner = keyof typeof owners;

const selectSecrets = { project: selectOf("project"), group: selectOf("group") };

/** The tables of both owners have the same columns, but for the name of one: queries are typed for that of projects. */
function tableOf(owner: Owner) {
  const { table, column } = owners[owner];
  return { table: table as "project_secrets", column: column as "project_id" };
}

function selectOf(owner: Owner) {
  const { table, column } = tableOf(owner);
  return fixedQuery(["id"], (db, { id }: { id: number }) =>
    db
      .selectFrom(table)
      .select(["name", "ciphertext", "scope", "form as as"])
      .where(column, "=", id)
      .orderBy("name"),
  );
}

export function buildSecretKeeper(scope: Scope, owner: Owner): SecretKeeper {
  const { db, dialect } = scope;
  const { table, column } = tableOf(owner);
  return {
    secrets: (id) => selectSecrets[owner](scope, { id }),
    secretNames: (ids) =>
      db
        .selectFrom(table)
        .select([`${column} as ownerId`, "name", "scope", "form as as"])
        .where(dialect.isAmong(column, ids))
        .orderBy("name")
        .execute(),
    async setSecret(id, name, ciphertext) {
      const row = { [column as "project_id"]: id, name, ciphertext, scope: null, form: "variable" } as const;
      const insert = db
        .insertInto(table)
        .values(row)
        .onConflict((conflict) => conflict.columns([column, "name"]).doUpdateSet({ ciphertext }));
      const missing = owner === "project" ? newReason("gone_project", { id }) : newReason("gone_group");
      await orFault(dialect, insert.execute(), { missing });
    },
    async setSecretUse(id, name, { scope, as }) {
      if (scope === undefined && as === undefined) return;
      await db
        .updateTable(table)
        .set({ ...(scope === undefined ? {} : { scope }), ...(as === undefined ? {} : { form: as }) })
        .where(column, "=", id)
        .where("name", "=", name)
        .execute();
    },
    async deleteSecret(id, name) {
      const result = await db
        .deleteFrom(table)
        .where(column, "=", id)
        .where("name", "=", name)
        .executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}
