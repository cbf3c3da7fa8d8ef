import type { Group, GroupKeeper } from "../../model/group.ts";
import { newReason } from "../../reason/reason.ts";
import { json, optional, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const groups = table<Group, "groups">("groups", {
  id: plain(),
  name: plain(),
  labels: optional(json()),
  allowedDomains: optional(json()),
  createdAt: time,
});

export function buildGroupKeeper(scope: Scope): GroupKeeper {
  const { db, dialect } = scope;
  const taken = (name = "") => ({ duplicate: newReason("exists", { noun: newReason("noun_group"), name }) });

  return {
    create: (group) =>
      groups.create(scope, { labels: null, allowedDomains: null, ...group }, taken(group.name)),
    byId: (id) => groups.one(scope, { id }),
    hold: (id) => groups.hold(scope, { id }),
    list({ ids }, request) {
      const all = db.selectFrom("groups");
      const found = ids === undefined ? all : all.where(dialect.isAmong("id", ids));
      return groups.page(scope, found, request, ["name"]);
    },
    update: (id, change) => groups.change(scope, { id }, change, taken(change.name)),
    delete: async (id) => (await groups.delete(scope, { id })) > 0,
  };
}
