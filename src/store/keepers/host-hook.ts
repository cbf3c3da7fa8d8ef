import type { HostHook, HostHookKeeper } from "../../model/host/host-hook.ts";
import { newReason } from "../../reason/reason.ts";
import { plain, reasonField, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const hooks = table<HostHook, "host_hooks">("host_hooks", {
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

export function buildHostHookKeeper(scope: Scope): HostHookKeeper {
  return {
    async save(hook) {
      await hooks.put(scope, ["projectId"], hook, { missing: newReason("gone_project_or_token") });
    },
    change: async ({ projectId, hookId, tokenId }, after) =>
      (await hooks.change(scope, { projectId, hookId, tokenId }, after)) !== null,
    saveCheck: async ({ projectId, hookId, tokenId, checkedAt }, found) =>
      (await hooks.change(scope, { projectId, hookId, tokenId, checkedAt }, found)) !== null,
    ofProject: (projectId) => hooks.one(scope, { projectId }),
    async due(now, limit) {
      const rows = await scope.db
        .selectFrom("host_hooks")
        .selectAll()
        .where("token_id", "is not", null)
        .where("next_check_at", "<=", now.getTime())
        .orderBy("next_check_at")
        .limit(limit)
        .execute();
      return rows.map(hooks.read);
    },
    delete: async (projectId) => (await hooks.delete(scope, { projectId })) > 0,
  };
}
