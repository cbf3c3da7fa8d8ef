import { type SqlBool, sql } from "kysely";
import { seenWithinMs } from "../../model/runner.ts";
import { extraFetches, extraRollbacks, maxActions, slowFetchMs } from "../../model/task.ts";
import type { Scope } from "../query/scope.ts";
import { ruleAgainst } from "./runner-rules.ts";
import { isDeploy, isHeld } from "./task-shape.ts";

const heldCount = (isCounted = sql`true`) => sql<number>`(select count(*) from tasks as held
  where held.runner_id = runner.id and held.${isHeld} and held.${isDeploy} and ${isCounted})`;

/** Whether `runner` may take one more task. A fetch that waits for its Git host leaves its place to another task. */
export function hasRoom(nowMs: number) {
  const isFast = sql`(held.fetching_since is null or held.fetching_since > ${nowMs - slowFetchMs})`;
  return sql<SqlBool>`(runner.concurrency > ${heldCount(isFast)}
    and runner.concurrency + ${sql.lit(extraFetches)} > ${heldCount()})`;
}

/** Whether the task `queued` runs a release that `runner` keeps, and needs no place of its own. */
export const runsKeptRelease = sql<SqlBool>`(queued.rollback_to is not null
  and exists (select 1 from releases as target where target.task_id = queued.rollback_to
    and target.state = 'kept' and target.runner_id = runner.id)
  and runner.concurrency + ${sql.lit(extraFetches + extraRollbacks)} > ${heldCount()})`;

/** Whether `runner` may take one more action with services. They need no place of other tasks. */
export const hasRoomForAction = sql<SqlBool>`${sql.lit(maxActions)} > (select count(*) from tasks as held
  where held.runner_id = runner.id and held.${isHeld} and held.service_action is not null)`;

/** The names of the connected runners that may take tasks of a project, by project, if none of them has room. */
export async function fullRunnersOf(
  { db, dialect }: Scope,
  projectIds: readonly number[],
  now: Date,
): Promise<Record<number, string>> {
  if (projectIds.length === 0) return {};
  const nowMs = now.getTime();
  const { rows } = await sql<{ id: number; names: string }>`
    select projects.id, string_agg(runner.name, ', ' order by runner.name) as names
    from projects left join groups on groups.id = projects.group_id cross join runners as runner
    where ${dialect.isAmong("projects.id", projectIds)} and ${ruleAgainst(dialect)} is null
    and runner.last_seen_at > ${nowMs - seenWithinMs}
    group by projects.id having sum(case when ${hasRoom(nowMs)} then 1 else 0 end) = 0`.execute(db);
  return Object.fromEntries(rows.map(({ id, names }) => [id, names]));
}
