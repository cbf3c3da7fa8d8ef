import type { AuditEntry, AuditKeeper } from "../../model/audit.ts";
import { longRead } from "../query/keeper-call.ts";
import { json, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const entries = table<AuditEntry, "audit">("audit", {
  id: plain(),
  at: time,
  userId: plain(),
  username: plain(),
  action: plain(),
  projectId: plain(),
  groupId: plain(),
  subject: plain(),
  detail: json(),
  remoteIp: plain(),
});

export function buildAuditKeeper(scope: Scope): AuditKeeper {
  const { db } = scope;
  return {
    async add(entry) {
      await db.insertInto("audit").values(entries.insert(entry)).execute();
    },
    list: longRead(async ({ userId, projectId, action, from, to }, request) => {
      let found = db.selectFrom("audit");
      if (userId !== undefined) found = found.where("user_id", "=", userId);
      if (projectId !== undefined) found = found.where("project_id", "=", projectId);
      if (action !== undefined) found = found.where("action", "=", action);
      if (from !== undefined) found = found.where("at", ">=", from.getTime());
      if (to !== undefined) found = found.where("at", "<", to.getTime());
      return entries.page(scope, found, request, ["at desc", "id desc"]);
    }),
    async lastId() {
      const row = await db.selectFrom("audit").select("id").orderBy("id", "desc").limit(1).executeTakeFirst();
      return row?.id ?? 0;
    },
    changesOf: longRead(async ({ projectIds, groupId }, actions, since) => {
      const ofUsers = db
        .selectFrom("audit")
        .select((eb) => [eb.fn.min<number>("id").as("id"), "user_id", "username", "action", "detail"])
        .where((row) =>
          groupId === null
            ? row("project_id", "in", projectIds)
            : row.or([row("project_id", "in", projectIds), row("group_id", "=", groupId)]),
        )
        .where("user_id", "is not", null)
        .where("action", "in", actions)
        .groupBy(["user_id", "username", "action", "detail"])
        .orderBy("id");
      const found =
        "afterId" in since
          ? ofUsers.where("id", ">", since.afterId)
          : ofUsers.where("at", ">=", since.from.getTime());
      return (await found.execute()).map(({ user_id, detail, ...change }) => ({
        ...change,
        userId: Number(user_id),
        detail: JSON.parse(detail) as AuditEntry["detail"],
      }));
    }),
  };
}
