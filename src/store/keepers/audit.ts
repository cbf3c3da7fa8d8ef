import type { AuditEntry, AuditKeeper } from "../../model/audit.ts";
import { pageOf } from "../query/page.ts";
import { json, plain, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<AuditEntry, "audit">({
  id: plain(),
  at: time,
  userId: plain(),
  username: plain(),
  action: plain(),
  projectId: plain(),
  subject: plain(),
  detail: json(),
  remoteIp: plain(),
});

export function buildAuditKeeper({ db }: Scope): AuditKeeper {
  return {
    async add(entry) {
      await db.insertInto("audit").values(shape.insert(entry)).execute();
    },
    async list({ userId, projectId, action, from, to }, request) {
      let found = db.selectFrom("audit");
      if (userId !== undefined) found = found.where("user_id", "=", userId);
      if (projectId !== undefined) found = found.where("project_id", "=", projectId);
      if (action !== undefined) found = found.where("action", "=", action);
      if (from !== undefined) found = found.where("at", ">=", from.getTime());
      if (to !== undefined) found = found.where("at", "<", to.getTime());
      return pageOf(
        db,
        found,
        request,
        (query) => query.orderBy("at", "desc").orderBy("id", "desc"),
        shape.read,
      );
    },
  };
}
