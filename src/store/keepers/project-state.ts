import { type RawBuilder, type SqlBool, sql } from "kysely";
import {
  type DeliveryCode,
  type ProjectState,
  type ProjectStateQuery,
  type RateBucket,
  type SameRefTask,
  uncountedCodes,
  unlistedCodes,
} from "../../model/delivery.ts";
import { seenWithinMs } from "../../model/runner.ts";
import { defaultTargetName, reservedSecrets } from "../../model/sealed.ts";
import type { TaskSource, TaskState } from "../../model/task.ts";
import { clockSlackMs } from "../query/clock-slack.ts";
import type { Dialect } from "../query/dialect.ts";
import { type FixedQuery, fixedQuery } from "../query/fixed-query.ts";
import type { StoredRow } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { projects } from "./project-table.ts";
import { othersAhead, ownAhead, waitingProjects } from "./queue-order.ts";
import { isDeploy, isHeld } from "./task-shape.ts";

type Values = ReturnType<typeof valuesOf>;

function valuesOf({ projectId, now, counted, window, pushed, tipOf, queued }: ProjectStateQuery) {
  return {
    project_id: projectId,
    status_secret: reservedSecrets.status as string,
    default_target: defaultTargetName as string,
    /** Records after `until` were made before a clock was set back. */
    until: now.getTime() + clockSlackMs,
    counted_since: counted?.since.getTime() ?? 0,
    limit: counted?.limit ?? 0,
    window_since: window?.since.getTime() ?? 0,
    raw_ref: window?.rawRef ?? "",
    pushed_ref: pushed?.rawRef ?? "",
    pushed_since: pushed?.since.getTime() ?? 0,
    tip_of: tipOf ?? "",
    id: Number.MAX_SAFE_INTEGER,
    priority: queued?.priority ?? 0,
    may_start_at: Math.max(now.getTime(), queued?.notBefore?.getTime() ?? 0),
    seen_since: now.getTime() - seenWithinMs,
  };
}

/** Columns of the answer beside those of the project; those that were not asked for are missing. */
interface Row {
  status_tokens: number;
  default_target: string | null;
  config_updated_at: number | null;
  counted?: number;
  oldest?: number | null;
  window_task_id?: number | null;
  window_task_state?: TaskState | null;
  window_task_source?: string | null;
  unfinished_id?: number | null;
  unfinished_state?: TaskState | null;
  same_id?: number | null;
  same_state?: TaskState | null;
  same_commit?: string | null;
  same_cause_ref?: string | null;
  same_cause_commit?: string | null;
  same_actions?: string | null;
  same_source?: string | null;
  tip_commit?: string | null;
  polled_task_id?: number | null;
  own?: number;
  others?: number;
  held_own?: number;
  held?: number;
  capacity?: number;
}

/** Each combination of parts that are wanted is a query of its own, prepared at its first use. */
const queries = new Map<string, FixedQuery<Values, Row>>();

/** One statement, because every further one is a round trip to PostgreSQL with the project's lock held. */
export async function projectStateOf(scope: Scope, wanted: ProjectStateQuery): Promise<ProjectState | null> {
  const { counted, window, pushed, unfinished, tipOf, queued } = wanted;
  const scopeOfWindow = window && (window.rawRef === null ? "project" : "ref");
  const parts = [counted?.bucket, scopeOfWindow, !pushed, unfinished, !tipOf, !queued].join();
  const values = valuesOf(wanted);
  const names = Object.keys(values) as (keyof Values)[];
  const query =
    queries.get(parts) ??
    fixedQuery<Values, Row>(names, (_, slots, dialect) => textOf(wanted, slots, dialect));
  queries.set(parts, query);
  const [row] = await query(scope, values);
  return row === undefined ? null : read(row);
}

function read(row: Row): ProjectState {
  const { window_task_id, unfinished_id, unfinished_state, config_updated_at, oldest = null } = row;
  return {
    project: projects.read(row as object as StoredRow),
    hasStatusToken: row.status_tokens > 0,
    defaultTarget: row.default_target,
    configUpdatedAt: config_updated_at === null ? null : new Date(config_updated_at),
    counted: { count: row.counted ?? 0, oldest: oldest === null ? null : new Date(oldest) },
    windowTask: window_task_id
      ? { id: window_task_id, state: row.window_task_state ?? null, source: sourceIn(row.window_task_source) }
      : null,
    unfinished: unfinished_id && unfinished_state ? { id: unfinished_id, state: unfinished_state } : null,
    sameRef: sameRefOf(row),
    tip:
      typeof row.tip_commit === "string"
        ? { commit: row.tip_commit, polledTaskId: row.polled_task_id ?? null }
        : null,
    queue:
      row.capacity === undefined
        ? null
        : {
            own: row.own ?? 0,
            others: row.others ?? 0,
            heldOwn: row.held_own ?? 0,
            held: row.held ?? 0,
            capacity: row.capacity,
          },
  };
}

function sameRefOf(row: Row): SameRefTask | null {
  if (!row.same_id || !row.same_state) return null;
  return {
    id: row.same_id,
    state: row.same_state,
    commit: row.same_commit ?? null,
    causeRef: row.same_cause_ref ?? null,
    causeCommit: row.same_cause_commit ?? null,
    actions: row.same_actions ? JSON.parse(row.same_actions) : null,
    source: sourceIn(row.same_source),
  };
}

function sourceIn(text: string | null | undefined): TaskSource | null {
  return text ? JSON.parse(text) : null;
}

/** How far back the last task of a ref is looked for. */
const maxLookedAt = 10;

function lastOfRef({ project_id, pushed_ref, pushed_since, until }: Values) {
  return sql`select recent.id from (select id, ref, cause_ref, created_at from tasks
      where project_id = ${project_id} and ${isDeploy} order by id desc limit ${sql.lit(maxLookedAt)}) as recent
    where coalesce(recent.cause_ref, recent.ref) = ${pushed_ref}
    and recent.created_at > ${pushed_since} and recent.created_at <= ${until} order by recent.id desc limit 1`;
}

function textOf(
  { counted, window, pushed, unfinished, tipOf, queued }: ProjectStateQuery,
  values: Values,
  dialect: Dialect,
): RawBuilder<Row> {
  const { project_id } = values;
  const columns = [
    sql`projects.*`,
    sql`webhook_configs.updated_at as config_updated_at`,
    sql`(select count(*) from project_secrets where project_secrets.project_id = projects.id
      and project_secrets.name = ${values.status_secret}) as status_tokens`,
    sql`(select value from meta where meta.name = ${values.default_target}) as default_target`,
  ];
  const joins = [sql`left join webhook_configs on webhook_configs.project_id = projects.id`];
  if (counted !== null) {
    columns.push(sql`counted.counted, counted.oldest`);
    joins.push(sql`cross join (select count(*) as counted, min(created_at) as oldest
      from (${countedIn(counted.bucket, values)}) as newest) as counted`);
  }
  if (window !== null) {
    columns.push(sql`opened.task_id as window_task_id, window_task.state as window_task_state,
      window_task.source as window_task_source`);
    joins.push(
      sql`left join deliveries as opened on opened.id = (${windowOpenedBy(window.rawRef !== null, values)})`,
      sql`left join tasks as window_task on window_task.id = opened.task_id`,
    );
  }
  if (pushed) {
    columns.push(sql`same.id as same_id, same.state as same_state, same."commit" as same_commit,
      same.cause_ref as same_cause_ref, same.cause_commit as same_cause_commit,
      same.actions as same_actions, same.source as same_source`);
    joins.push(sql`left join tasks as same on same.id = (${lastOfRef(values)})`);
  }
  if (unfinished) {
    columns.push(sql`unfinished.id as unfinished_id, unfinished.state as unfinished_state`);
    joins.push(sql`left join tasks as unfinished on unfinished.id = (select min(id) from (
      select id from tasks where project_id = ${project_id} and state = 'queued' and ${isDeploy} union all
      select id from tasks where project_id = ${project_id} and ${isHeld} and ${isDeploy}) as candidates)`);
  }
  if (tipOf) {
    columns.push(sql`ref_tips."commit" as tip_commit, ref_tips.polled_task_id`);
    joins.push(
      sql`left join ref_tips on ref_tips.project_id = projects.id and ref_tips.ref = ${values.tip_of}`,
    );
  }
  if (queued)
    columns.push(
      sql`${ownAhead(values)} as own, ${othersAhead(values)} as others,
      (select count(*) from tasks where project_id = ${project_id} and ${isHeld} and ${isDeploy}) as held_own,
      (select count(*) from tasks where ${isHeld} and ${isDeploy}) as held,
      (select coalesce(sum(concurrency), 0) from runners where disabled = 0 and last_seen_at > ${values.seen_since}) as capacity`,
    );
  const first = queued ? sql`with ${waitingProjects(dialect)} select` : sql`select`;
  return sql<Row>`${first} ${sql.join(columns)} from projects ${sql.join(joins, sql` `)} where projects.id = ${project_id}`;
}

/** Values of remote_ip that mark a delivery as no live one. */
const isLive = sql<SqlBool>`remote_ip not in ('test', 'replay')`;

function windowOpenedBy(hasRef: boolean, { project_id, window_since, until, raw_ref }: Values) {
  const isOfRef = sql<SqlBool>`exists (select 1 from tasks where tasks.id = deliveries.task_id
    and coalesce(tasks.cause_ref, tasks.ref) = ${raw_ref})`;
  return sql`select deliveries.id from deliveries where deliveries.project_id = ${project_id}
    and deliveries.status = 'accepted' and deliveries.created_at > ${window_since}
    and deliveries.created_at <= ${until} and ${isLive} and ${hasRef ? isOfRef : sql`true`}
    order by deliveries.created_at desc, deliveries.id desc limit 1`;
}

/**
 * An unreadable body may be anybody's: half a request carries no proof. What was verified and is no JSON is counted by
 * each instance alone.
 */
const uncounted: readonly DeliveryCode[] = [...uncountedCodes, "invalid_payload", ...unlistedCodes];

function countedIn(bucket: RateBucket, { project_id, counted_since, until, limit }: Values) {
  const codes = sql.join((bucket === "listed" ? uncounted : unlistedCodes).map((code) => sql.lit(code)));
  return sql`select created_at from deliveries where project_id = ${project_id} and created_at > ${counted_since}
    and created_at <= ${until} and ${isLive} and remote_ip <> 'poll' and code ${bucket === "listed" ? sql`not in` : sql`in`} (${codes})
    order by created_at desc, id desc limit ${limit}`;
}
