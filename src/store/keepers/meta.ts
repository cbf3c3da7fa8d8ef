import type { MetaKeeper } from "../../model/store.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { Scope } from "../query/scope.ts";

const selectValue = fixedQuery(["name"], (db, { name }: { name: string }) =>
  db.selectFrom("meta").select("value").where("name", "=", name),
);

export function buildMetaKeeper(scope: Scope): MetaKeeper {
  return {
    async get(name) {
      const [row] = await selectValue(scope, { name });
      return row?.value ?? null;
    },
    async set(name, value) {
      await scope.db
        .insertInto("meta")
        .values({ name, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
    },
  };
}
