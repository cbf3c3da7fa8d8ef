import { type SqlBool, sql } from "kysely";
import {
  type DeliveryCode,
  type RecentQuery,
  type RecentWork,
  uncountedCodes,
  unlistedCodes,
} from "../../model/delivery.ts";
import { seenWithinMs } from "../../model/runner.ts";
import type { TaskState } from "../../model/task.ts";
import { clockSlackMs } from "../query/clock-slack.ts";
import type { Dialect } from "../query/dialect.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { Scope } from "../query/scope.ts";
import { othersAhead, ownAhead, waitingProjects } from "./queue-order.ts";
import { isDeploy, isHeld } from "./task-shape.ts";

function valuesOf({ projectId, placeId, now, counted, window, pushed, queued }: RecentQuery) {
  return {
    project_id: projectId,
    place_id: placeId,
    /** Records after it were made before a clock was set back. */
    until: now.getTime() + clockSlackMs,
    counted_since: counted.since.getTime(),
    is_unlisted: counted.bucket === "unlisted" ? 1 : 0,
    window_since: window.since.getTime(),
    window_ref: window.rawRef,
    pushed_ref: pushed.rawRef,
    pushed_since: pushed.since.getTime(),
    is_queued: queued === null ? 0 : 1,
    /** A task at the end of the queue. */
    id: Number.MAX_SAFE_INTEGER,
    priority: queued?.priority ?? 0,
    may_start_at: Math.max(now.getTime(), queued?.notBefore?.getTime() ?? 0),
    seen_since: now.getTime() - seenWithinMs,
  };
}
type Values = ReturnType<typeof valuesOf>;

interface Row {
  counted: number;
  oldest: number | null;
  window_task_id: number | null;
  window_task_state: TaskState | null;
  window_task_source: string | null;
  unfinished_id: number | null;
  unfinished_state: TaskState;
  same_id: number | null;
  same_state: TaskState;
  same_commit: string | null;
  same_cause_ref: string | null;
  same_cause_commit: string | null;
  same_actions: string | null;
  same_source: string | null;
  tip_commit: string | null;
  tip_polled_task_id: number | null;
  own: number | null;
  others: number;
  held_own: number;
  held: number;
  capacity: number;
}

/** Values of remote_ip that mark a delivery as no live one. */
const isLive = sql<SqlBool>`remote_ip not in ('test', 'replay')`;

const listOf = (codes: readonly DeliveryCode[]) => sql.join(codes.map((code) => sql.lit(code)));
/**
 * An unreadable body may be anybody's: half a request carries no proof. What was verified and is no JSON is counted by
 * each instance alone.
 */
const uncounted = listOf([...uncountedCodes, "invalid_payload"]);

/** How far back the last task of a ref is looked for. */
const maxLookedAt = 10;

/**
 * One statement, because each further one is a round trip to PostgreSQL with the project's lock held. Every part finds at
 * most one row.
 */
const textOf = (asked: Values, dialect: Dialect) => sql<Row>`with ${waitingProjects(dialect)},
  counted as (
    select count(*) as counted, min(created_at) as oldest from deliveries
    where project_id = ${asked.project_id} and created_at > ${asked.counted_since} and created_at <= ${asked.until}
      and ${isLive} and remote_ip <> 'poll' and code not in (${uncounted})
      and (code in (${listOf(unlistedCodes)})) = (cast(${asked.is_unlisted} as bigint) = 1)),
  opened as (
    select task_id from deliveries
    where project_id = ${asked.project_id} and status = 'accepted' and created_at > ${asked.window_since}
      and created_at <= ${asked.until} and ${isLive}
      and (cast(${asked.window_ref} as text) is null or exists (select 1 from tasks
        where tasks.id = deliveries.task_id and coalesce(tasks.cause_ref, tasks.ref) = ${asked.window_ref}))
    order by created_at desc, id desc limit 1),
  same as (
    select * from (select * from tasks where project_id = ${asked.place_id} and ${isDeploy}
      order by id desc limit ${sql.lit(maxLookedAt)}) as recent
    where coalesce(cause_ref, ref) = ${asked.pushed_ref} and created_at > ${asked.pushed_since}
      and created_at <= ${asked.until}
    order by id desc limit 1),
  unfinished as (
    select id, state from (
      select id, state from tasks where project_id = ${asked.place_id} and state = 'queued' and ${isDeploy} union all
      select id, state from tasks where project_id = ${asked.place_id} and ${isHeld} and ${isDeploy}) as candidates
    order by id limit 1),
  queue as (
    select ${ownAhead({ ...asked, project_id: asked.place_id })} as own,
      ${othersAhead({ ...asked, project_id: asked.place_id })} as others,
      (select count(*) from tasks where project_id = ${asked.place_id} and ${isHeld} and ${isDeploy}) as held_own,
      (select count(*) from tasks where ${isHeld} and ${isDeploy}) as held,
      (select coalesce(sum(concurrency), 0) from runners
        where disabled = 0 and last_seen_at > ${asked.seen_since}) as capacity
    where cast(${asked.is_queued} as bigint) = 1)
  select counted.*, queue.*, opened.task_id as window_task_id, window_task.state as window_task_state,
    window_task.source as window_task_source, unfinished.id as unfinished_id, unfinished.state as unfinished_state,
    same.id as same_id, same.state as same_state, same."commit" as same_commit, same.cause_ref as same_cause_ref,
    same.cause_commit as same_cause_commit, same.actions as same_actions, same.source as same_source,
    tip."commit" as tip_commit, tip.polled_task_id as tip_polled_task_id
  from counted
  left join opened on true left join tasks as window_task on window_task.id = opened.task_id
  left join unfinished on true left join same on true left join queue on true
  left join ref_tips as tip on tip.project_id = ${asked.project_id} and tip.ref = ${asked.pushed_ref}`;

const selectRecent = fixedQuery<Values, Row>(
  [
    "project_id",
    "place_id",
    "until",
    "counted_since",
    "is_unlisted",
    "window_since",
    "window_ref",
    "pushed_ref",
    "pushed_since",
    "is_queued",
    "id",
    "priority",
    "may_start_at",
    "seen_since",
  ],
  (_, values, dialect) => textOf(values, dialect),
);

export async function recentOf(scope: Scope, request: RecentQuery): Promise<RecentWork> {
  const [row] = await selectRecent(scope, valuesOf(request));
  if (row === undefined) throw new Error("A count has no row.");
  const { oldest, window_task_id, window_task_state, unfinished_id, same_id, tip_commit } = row;
  return {
    counted: { count: row.counted, oldest: oldest === null ? null : new Date(oldest) },
    windowTask: window_task_id
      ? { id: window_task_id, state: window_task_state, source: jsonIn(row.window_task_source) }
      : null,
    unfinished: unfinished_id ? { id: unfinished_id, state: row.unfinished_state } : null,
    sameRef: same_id
      ? {
          id: same_id,
          state: row.same_state,
          commit: row.same_commit,
          causeRef: row.same_cause_ref,
          causeCommit: row.same_cause_commit,
          actions: jsonIn(row.same_actions),
          source: jsonIn(row.same_source),
        }
      : null,
    tip: tip_commit === null ? null : { commit: tip_commit, polledTaskId: row.tip_polled_task_id },
    queue:
      row.own === null
        ? null
        : { own: row.own, others: row.others, heldOwn: row.held_own, held: row.held, capacity: row.capacity },
  };
}

function jsonIn<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
