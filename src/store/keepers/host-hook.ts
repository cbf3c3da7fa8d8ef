import type { HostHook, HostHookKeeper } from "../../model/host/host-hook.ts";
import { newReason } from "../../reason/reason.ts";
import { plain, reasonField, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<HostHook, "host_hooks">({
  projectId: plain(),
  tokenId: plain(),
  kind: plain(),
  origin: plain(),
  path: plain(),
  hookId: plain(),
  keyId: plain(),
  state: plain(),
  note: reasonField,
  checkedAt: time,
  nextCheckAt: time,
});

export function buildHostHookKeeper({ db, dialect }: Scope): HostHookKeeper {
  return {
    async save(hook) {
      const row = shape.insert(hook);
      const insert = db
        .insertInto("host_hooks")
        .values(row)
        .onConflict((conflict) => conflict.column("project_id").doUpdateSet(row));
      const gone = { missing: newReason("gone_project_or_token") };
      await orFault(dialect, insert.execute(), gone);
    },
    async saveCheck({ projectId, hookId, tokenId }, found) {
      const result = await db
        .updateTable("host_hooks")
        .set(shape.update(found))
        .where("project_id", "=", projectId)
        .where("hook_id", "=", hookId)
        .where("token_id", tokenId === null ? "is" : "=", tokenId)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    async ofProject(projectId) {
      const row = await db
        .selectFrom("host_hooks")
        .selectAll()
        .where("project_id", "=", projectId)
        .executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async due(now, limit) {
      const rows = await db
        .selectFrom("host_hooks")
        .selectAll()
        .where("token_id", "is not", null)
        .where("next_check_at", "<=", now.getTime())
        .orderBy("next_check_at")
        .limit(limit)
        .execute();
      return rows.map(shape.read);
    },
    async delete(projectId) {
      const result = await db.deleteFrom("host_hooks").where("project_id", "=", projectId).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}
