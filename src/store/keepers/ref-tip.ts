import { type RawBuilder, sql } from "kysely";
import type { HandledTip, RefTip, RefTipKeeper } from "../../model/ref-tip.ts";
import { plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const refTips = table<RefTip, "ref_tips">("ref_tips", {
  projectId: plain(),
  ref: plain(),
  commit: plain(),
  pushedAt: time,
  polledTaskId: plain(),
});

/** Rows of one statement: SQLite takes 32,766 parameters. */
const rowsPerStatement = 1000;

export function buildRefTipKeeper(scope: Scope): RefTipKeeper {
  const { db } = scope;
  return {
    ofProject: (projectId) => refTips.all(scope, { projectId }, ["ref"]),
    async set(projectId, tips, now) {
      for (let from = 0; from < tips.length; from += rowsPerStatement) {
        const rows = tips
          .slice(from, from + rowsPerStatement)
          .map(({ ref, commit }) =>
            refTips.insert({ projectId, ref, commit, pushedAt: now, polledTaskId: null }),
          );
        await db
          .insertInto("ref_tips")
          .values(rows)
          .onConflict((conflict) => conflict.columns(["project_id", "ref"]).doUpdateSet(excluded))
          .execute();
      }
    },
    async delete(projectId, refs) {
      for (let from = 0; from < refs.length; from += rowsPerStatement)
        await db
          .deleteFrom("ref_tips")
          .where("project_id", "=", projectId)
          .where("ref", "in", refs.slice(from, from + rowsPerStatement))
          .execute();
    },
  };
}

const excluded = {
  commit: sql<string>`excluded."commit"`,
  pushed_at: sql<number>`excluded.pushed_at`,
  polled_task_id: sql<number | null>`excluded.polled_task_id`,
};

/** A tip's values that its delivery does not have. `tip_ref` is null where no tip is stored. */
export interface TipRow {
  tip_ref: string | null;
  tip_commit: string;
  tip_pushed_at: number;
  tip_is_replay: number;
  tip_is_polled: number;
}
export const tipNames = [
  "tip_ref",
  "tip_commit",
  "tip_pushed_at",
  "tip_is_replay",
  "tip_is_polled",
] as const satisfies (keyof TipRow)[];

export function tipRowOf(tip: HandledTip | null): TipRow {
  return {
    tip_ref: tip?.ref ?? null,
    tip_commit: tip?.commit ?? "",
    tip_pushed_at: tip?.pushedAt.getTime() ?? 0,
    tip_is_replay: tip?.kind === "replay" ? 1 : 0,
    tip_is_polled: tip?.kind === "poll" ? 1 : 0,
  };
}

/**
 * Stores the tip of a delivery. An older push that is replayed, or that the host sends again, does not replace a newer tip:
 * the next poll would take the newer one for a new push. A host may send one delivery id with different pushes, so only the
 * same ref and commit count as sent again.
 */
export function upsertTip(
  row: TipRow & { project_id: number; repeatable_host_id: string | null; ref: string },
  taskId: unknown,
): RawBuilder<never> {
  const isSentAgain = sql`exists (select 1 from deliveries as sent
    where sent.host_delivery_id = ${row.repeatable_host_id} and sent.host_delivery_id <> ''
    and sent.project_id = ${row.project_id} and sent.ref = ${row.ref} and sent."commit" = ${row.tip_commit}
    and sent.status in ('accepted', 'merged', 'ignored'))`;
  return sql`insert into ref_tips (project_id, ref, "commit", pushed_at, polled_task_id)
    select cast(${row.project_id} as bigint), cast(${row.tip_ref} as text), cast(${row.tip_commit} as text),
      cast(${row.tip_pushed_at} as bigint),
      case when cast(${row.tip_is_polled} as bigint) = 1 then nullif(cast(${taskId} as bigint), 0) end
    where cast(${row.tip_ref} as text) is not null and not ${isSentAgain}
    on conflict (project_id, ref) do update set "commit" = excluded."commit", pushed_at = excluded.pushed_at,
      polled_task_id = excluded.polled_task_id
    where cast(${row.tip_is_replay} as bigint) = 0 or ref_tips.pushed_at <= excluded.pushed_at`;
}
