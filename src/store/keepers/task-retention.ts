import { type Expression, type SqlBool, sql } from "kysely";
import type { TaskRetentionKeeper } from "../../model/task-retention.ts";
import { longRead } from "../query/keeper-call.ts";
import type { Scope } from "../query/scope.ts";
import { deleteLogRows } from "./task-log.ts";
import { isDeploy, isUnfinished } from "./task-shape.ts";

/** Finds old tasks by id: ids grow with time, so the oldest come first and no other index is needed. */
export function buildTaskRetentionKeeper(scope: Scope): TaskRetentionKeeper {
  const { db, dialect } = scope;
  return {
    after: longRead(async (afterId, before, limit) => {
      const rows = await db
        .selectFrom("tasks")
        .select(["id", "created_at"])
        .where("id", ">", afterId)
        .orderBy("id")
        .limit(limit)
        .execute();
      const old = rows.filter((row) => row.created_at < before.getTime()).map((row) => row.id);
      if (old.length === 0) return { ids: [], lastId: null };
      const found = await db
        .selectFrom("tasks")
        .select("id")
        .where(dialect.isAmong("id", old))
        .where(mayGo(before))
        .execute();
      return { ids: found.map((row) => row.id), lastId: rows.at(-1)?.id ?? null };
    }),
    deleteLogs: (ids, limit) => deleteLogRows(scope, ids, limit),
    async delete(ids, before) {
      const result = await db
        .deleteFrom("tasks")
        .where(dialect.isAmong("id", ids))
        .where(mayGo(before))
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}

function mayGo(before: Date): Expression<SqlBool> {
  return sql<SqlBool>`finished_at < ${before.getTime()} and not (${isUnfinished})
    and not exists (select 1 from projects where projects.id = tasks.project_id and live_task_id = tasks.id)
    and not exists (select 1 from releases where releases.task_id = tasks.id and releases.state = 'kept')
    and exists (select 1 from tasks newer where newer.project_id = tasks.project_id and newer.id > tasks.id
      and newer.${isDeploy})`;
}
