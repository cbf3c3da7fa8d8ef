import type { MetaKeeper } from "../../model/store.ts";
import type { Scope } from "../query/scope.ts";

export function buildMetaKeeper({ db }: Scope): MetaKeeper {
  return {
    async get(name) {
      const row = await db.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirst();
      return row?.value ?? null;
    },
    async set(name, value) {
      await db
        .insertInto("meta")
        .values({ name, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
    },
  };
}
