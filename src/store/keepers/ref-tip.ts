import { sql } from "kysely";
import type { NewDelivery } from "../../model/delivery.ts";
import type { HandledTip, RefTip, RefTipKeeper } from "../../model/ref-tip.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { inTransaction, longRead } from "../query/keeper-call.ts";
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
    ofProject: longRead((projectId) => refTips.all(scope, { projectId }, ["ref"])),
    set: inTransaction(async (projectId, tips, now) => {
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
    }),
    delete: inTransaction(async (projectId, refs) => {
      for (let from = 0; from < refs.length; from += rowsPerStatement)
        await db
          .deleteFrom("ref_tips")
          .where("project_id", "=", projectId)
          .where("ref", "in", refs.slice(from, from + rowsPerStatement))
          .execute();
    }),
  };
}

const excluded = {
  commit: sql<string>`excluded."commit"`,
  pushed_at: sql<number>`excluded.pushed_at`,
  polled_task_id: sql<number | null>`excluded.polled_task_id`,
};

interface TipValues {
  project_id: number;
  ref: string;
  commit: string;
  pushed_at: number;
  polled_task_id: number | null;
  is_replay: number;
  host_id: string | null;
  recorded_ref: string;
}

/**
 * An older push that is replayed, or that the host sends again, does not replace a newer tip: the next poll would take the
 * newer one for a new push. A host may send one delivery id with different pushes, so only the same ref and commit count as
 * sent again.
 */
const upsertTip = fixedQuery<TipValues, never>(
  ["project_id", "ref", "commit", "pushed_at", "polled_task_id", "is_replay", "host_id", "recorded_ref"],
  (_, tip) => sql`
    insert into ref_tips (project_id, ref, "commit", pushed_at, polled_task_id)
    select cast(${tip.project_id} as bigint), cast(${tip.ref} as text), cast(${tip.commit} as text),
      cast(${tip.pushed_at} as bigint), cast(${tip.polled_task_id} as bigint)
    where not exists (select 1 from deliveries as sent
      where sent.host_delivery_id = ${tip.host_id} and sent.host_delivery_id <> ''
      and sent.project_id = ${tip.project_id} and sent.ref = ${tip.recorded_ref} and sent."commit" = ${tip.commit}
      and sent.status in ('accepted', 'merged', 'ignored'))
    on conflict (project_id, ref) do update
      set "commit" = excluded."commit", pushed_at = excluded.pushed_at, polled_task_id = excluded.polled_task_id
      where cast(${tip.is_replay} as bigint) = 0 or ref_tips.pushed_at <= excluded.pushed_at`,
);

/** Stores the tip of a delivery that is about to be stored. */
export async function storeTip(
  scope: Scope,
  { ref, commit, pushedAt, kind }: HandledTip,
  delivery: Pick<NewDelivery, "project_id" | "ref">,
  hostId: string | null,
  taskId: number,
): Promise<void> {
  await upsertTip(scope, {
    project_id: delivery.project_id,
    ref,
    commit,
    pushed_at: pushedAt.getTime(),
    polled_task_id: kind === "poll" && taskId !== 0 ? taskId : null,
    is_replay: kind === "replay" ? 1 : 0,
    host_id: hostId,
    recorded_ref: delivery.ref,
  });
}
