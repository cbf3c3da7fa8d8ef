import { type SqlBool, sql } from "kysely";
import { weakestIsolation } from "../../model/execution.ts";
import type { Runner, RunnerKeeper } from "../../model/runner.ts";
import { newReason } from "../../reason/reason.ts";
import { flag, json, optional, plain, reasonField, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";
import { ruleAgainst, runnersUnderRules } from "./runner-rules.ts";

const runners = table<Runner, "runners">("runners", {
  id: plain(),
  name: plain(),
  labels: json(),
  tokenHash: plain(),
  local: flag,
  disabled: flag,
  version: plain(),
  concurrency: plain(),
  groupIds: json(),
  offeredLabels: optional(json()),
  alsoUnlabelled: flag,
  trustedIsolation: plain(),
  reportedIsolation: plain(),
  isolationNote: reasonField,
  proxy: plain(),
  proxyNote: reasonField,
  containers: flag,
  features: json(),
  lastSeenAt: optional(time),
  createdAt: time,
});

const plainRegistration = {
  groupIds: [],
  alsoUnlabelled: false,
  trustedIsolation: weakestIsolation,
} satisfies Partial<Runner>;

const nothingTold = {
  offeredLabels: null,
  reportedIsolation: weakestIsolation,
  isolationNote: "",
  proxy: null,
  proxyNote: "",
  containers: false,
  features: [],
  version: "",
  lastSeenAt: null,
} satisfies Partial<Runner>;

export function buildRunnerKeeper(scope: Scope): RunnerKeeper {
  const { db, dialect } = scope;
  const taken = (name = "") => ({
    duplicate: newReason("exists", { noun: newReason("noun_runner"), name }),
    unique: "name",
  });

  return {
    create: (runner) =>
      runners.create(scope, { ...plainRegistration, ...runner, ...nothingTold }, taken(runner.name)),
    byId: (id) => runners.one(scope, { id }),
    byTokenHash: (tokenHash) => runners.one(scope, { tokenHash }),
    async localOne() {
      const [first] = await runners.all(scope, { local: true }, ["id"], 1);
      return first ?? null;
    },
    hold: (id) => runners.hold(scope, { id }),
    list: (request) => runners.page(scope, db.selectFrom("runners"), request, ["name"]),
    update: (id, change) => runners.change(scope, { id }, change, taken(change.name)),
    async ofProject(projectId) {
      const rows = await db
        .selectFrom("projects")
        .leftJoin("groups", "groups.id", "projects.group_id")
        .innerJoin("runners as runner", (join) => join.onTrue())
        .selectAll("runner")
        .where("projects.id", "=", projectId)
        .where(sql<SqlBool>`${ruleAgainst(dialect)} is null`)
        .orderBy("runner.name")
        .execute();
      return rows.map(runners.read);
    },
    underRules: (projectIds, runnerId) => runnersUnderRules(scope, projectIds, runnerId),
    async markGone(id, lastSeenAt) {
      const since = lastSeenAt.getTime();
      const result = await db
        .updateTable("runners")
        .set({ gone_since: since })
        .where("id", "=", id)
        .where("last_seen_at", "=", since)
        .where((eb) => eb.or([eb("gone_since", "is", null), eb("gone_since", "!=", since)]))
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    delete: async (id) => (await runners.delete(scope, { id })) > 0,
  };
}
