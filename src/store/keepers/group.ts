import { type Group, type GroupKeeper, groupSchema } from "../../model/group.ts";
import { newReason } from "../../reason/reason.ts";
import { longRead } from "../query/keeper-call.ts";
import { fieldsOf } from "../query/schema-fields.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";
import { buildSecretKeeper } from "./secret.ts";

const groups = table<Group, "groups">("groups", fieldsOf(groupSchema));

export function buildGroupKeeper(scope: Scope): GroupKeeper {
  const { db, dialect } = scope;
  const taken = (name = "") => ({
    duplicate: newReason("exists", { noun: newReason("noun_group"), name }),
    unique: "name",
  });

  return {
    create: (group) =>
      groups.create(scope, { labels: null, allowedDomains: null, env: {}, ...group }, taken(group.name)),
    byId: (id) => groups.one(scope, { id }),
    hold: (id) => groups.hold(scope, { id }),
    list: longRead(({ ids }, request) => {
      const all = db.selectFrom("groups");
      const found = ids === undefined ? all : all.where(dialect.isAmong("id", ids));
      return groups.page(scope, found, request, ["name"]);
    }),
    update: (id, change) => groups.change(scope, { id }, change, taken(change.name)),
    delete: async (id) => (await groups.delete(scope, { id })) > 0,
    ...buildSecretKeeper(scope, "group"),
  };
}
