import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type IsolationLevel, isIsolatedEnough, isolationLevels } from "../../model/execution.ts";
import type { ClaimRequest, InQueue, Task } from "../../model/task.ts";
import { clockSlackMs } from "../query/clock-step.ts";
import type { Dialect } from "../query/dialect.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { Scope } from "../query/scope.ts";
import { isHeld, taskShape } from "./task-shape.ts";

/** Two instances that meet on one project try again; a third meeting in a row is left to the next poll. */
const maxAttempts = 3;

/**
 * Moves the first claimable task to `dispatched`. On PostgreSQL the task and its project are locked and locked ones
 * skipped, so that claimers pass each other; where their snapshots still overlap, the unique index over held tasks of
 * a project refuses the second one. Most claims find nothing, so they look first: that keeps nobody from writing.
 */
export async function claimTask(scope: Scope, request: ClaimRequest): Promise<Task | null> {
  if ((await nextFor(scope, request, withoutLock)) === undefined) return null;
  for (let attempt = 1; ; attempt++) {
    try {
      return await scope.transact((inner) => claimOnce(inner, request));
    } catch (error) {
      if (scope.dialect.violationOf(error) !== "duplicate") throw error;
      if (attempt === maxAttempts) return null;
    }
  }
}

async function claimOnce(scope: Scope, request: ClaimRequest): Promise<Task | null> {
  const { db, dialect } = scope;
  // Two claims of one runner cannot both fit: the second waits here.
  if (dialect.hasRowLocks)
    await db.selectFrom("runners").select("id").where("id", "=", request.runnerId).forUpdate().execute();
  const next = await nextFor(scope, request, dialect.hasRowLocks ? lockOfClaim : withoutLock);
  if (next === undefined) return null;
  const row = await db
    .updateTable("tasks")
    .set((eb) => ({
      state: "dispatched",
      attempt: eb("attempt", "+", 1),
      lease_hash: request.leaseHash,
      lease_until: request.leaseUntil.getTime(),
      runner_id: request.runnerId,
    }))
    .where("id", "=", next.id)
    .where("state", "=", "queued")
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : taskShape.read(row);
}

const withoutLock = sql``;
const lockOfClaim = sql`for no key update of queued, projects skip locked`;

async function nextFor(
  scope: Scope,
  request: ClaimRequest,
  lock: RawBuilder<unknown>,
): Promise<{ id: number } | undefined> {
  if ((await heldBy(scope, request.runnerId)) >= request.concurrency) return undefined;
  return nextClaimable(scope, request, lock);
}

async function heldBy({ db }: Scope, runnerId: number): Promise<number> {
  const row = await db
    .selectFrom("tasks")
    .select((eb) => eb.fn.countAll<number>().as("held"))
    .where("runner_id", "=", runnerId)
    .where(isHeld)
    .executeTakeFirstOrThrow();
  return row.held;
}

/**
 * The projects that have a queued task, read by stepping from one to the next in the index: a project with ten thousand
 * waiting tasks costs no more than one with a single task.
 */
const waitingProjects = ({ byIndex }: Dialect) => {
  const first = (isNext: RawBuilder<SqlBool>) => sql`(select next.project_id from tasks as next
    ${byIndex("tasks_queued")} where next.state = 'queued' and ${isNext} order by next.project_id limit 1)`;
  return sql`recursive waiting(project_id) as (
    select ${first(sql`true`)}
    union all
    select ${first(sql`next.project_id > waiting.project_id`)} from waiting where waiting.project_id is not null)`;
};

const projectIsFree = sql<SqlBool>`not exists (
  select 1 from tasks as held where held.project_id = waiting.project_id
  and held.state in ('dispatched', 'running', 'canceling'))`;

/**
 * The current rules of admins. A claim may wait long, and a runner that was bound to other groups or lost a label meanwhile
 * must not get a task that it could have had before. task/queue/waiting.ts describes the same rules.
 */
const isGranted = ({ isSubset, isListed }: Dialect, runnerId: number) => sql<SqlBool>`not exists (
    select 1 from runners where runners.id = ${runnerId} and (
      not ${isSubset("projects.labels", sql.ref("runners.labels"))}
      or (runners.labels <> '[]' and runners.also_unlabelled = 0 and projects.labels = '[]')
      or (runners.group_ids <> '[]' and not ${isListed("projects.group_id", "runners.group_ids")})))
  and not exists (
    select 1 from groups where groups.id = projects.group_id and groups.labels is not null
    and not ${isSubset("projects.labels", sql.ref("groups.labels"))})`;

/** A runner without containers would ignore an image; task/queue/waiting.ts describes the same rules. */
const isSafe = (isolation: IsolationLevel, hasContainers: boolean) => {
  const accepted = isolationLevels.filter((asked) => isIsolatedEnough(isolation, asked));
  return sql<SqlBool>`(projects.needs_container = 0 or ${hasContainers ? 1 : 0} = 1)
    and projects.isolation in (${sql.join(accepted)})`;
};

/**
 * The first of the tasks that may start, considering the first one of each free project. A task created in the future may
 * start at once: the clock was set back since.
 */
async function nextClaimable(
  { db, dialect }: Scope,
  { runnerId, now, labels, isolation = "none", containers = false }: ClaimRequest,
  lock: RawBuilder<unknown>,
): Promise<{ id: number } | undefined> {
  const { rows } = await sql<{ id: number }>`with ${waitingProjects(dialect)}
    select queued.id from waiting
    cross join projects
    cross join tasks as queued
    where projects.id = waiting.project_id and ${dialect.isSubset("projects.labels", sql`${JSON.stringify(labels)}`)}
    and ${isGranted(dialect, runnerId)} and ${isSafe(isolation, containers)} and ${projectIsFree}
    and queued.id = (select first.id from tasks as first
      where first.project_id = waiting.project_id and first.state = 'queued'
      and (first.not_before is null or first.not_before <= ${now.getTime()}
        or first.created_at > ${now.getTime() + clockSlackMs})
      order by first.priority desc, first.id limit 1)
    order by queued.priority desc, queued.id limit 1
    ${lock}`.execute(db);
  return rows[0];
}

interface Standing {
  project_id: number;
  id: number;
  priority: number;
  may_start_at: number;
}

/** The same as columns of a query. */
type StandingColumns = { [Name in keyof Standing]: RawBuilder<number> };

const isAhead = ({
  id,
  priority,
  may_start_at,
}: Standing | StandingColumns) => sql<SqlBool>`ahead.state = 'queued'
  and (ahead.priority > ${priority} or (ahead.priority = ${priority} and ahead.id < ${id}))
  and (ahead.not_before is null or ahead.not_before <= ${may_start_at})`;

const othersAhead = (
  task: Standing | StandingColumns,
) => sql`(select count(*) from waiting where waiting.project_id <> ${task.project_id} and ${projectIsFree}
  and exists (select 1 from tasks as ahead where ahead.project_id = waiting.project_id and ${isAhead(task)}))`;

const ownAhead = (task: Standing | StandingColumns) =>
  sql`(select count(*) from tasks as ahead where ahead.project_id = ${task.project_id} and ${isAhead(task)})`;

const countAhead = fixedQuery(
  ["project_id", "id", "priority", "may_start_at"],
  (_, task: Standing, dialect) =>
    sql<{ others: number; own: number }>`with ${waitingProjects(dialect)}
    select ${othersAhead(task)} as others, ${ownAhead(task)} as own`,
);

/**
 * What a claim would hand out before this task: the order is the claim's own. Of another project only its first task
 * can be among them, and none while that project is busy: this task would overtake the others.
 */
export async function aheadOf(
  scope: Scope,
  task: InQueue,
  now: Date,
): Promise<{ own: number; others: number }> {
  const [row] = await countAhead(scope, {
    project_id: task.projectId,
    id: task.id,
    priority: task.priority,
    may_start_at: Math.max(now.getTime(), task.notBefore?.getTime() ?? 0),
  });
  return { own: row?.own ?? 0, others: row?.others ?? 0 };
}

/** One query on the reader thread, so that the positions of a page do not block the event loop. */
export async function positionsOf(
  { lists, dialect }: Scope,
  tasks: readonly InQueue[],
  now: Date,
): Promise<Map<number, number>> {
  const nowMs = now.getTime();
  const asked: StandingColumns = {
    project_id: sql.ref("asked.project_id"),
    id: sql.ref("asked.id"),
    priority: sql.ref("asked.priority"),
    may_start_at: sql`case when asked.not_before > ${nowMs} then asked.not_before else ${nowMs} end`,
  };
  const ids = tasks.map(({ id }) => id);
  const { rows } = await sql<{ id: number; ahead: number }>`with ${waitingProjects(dialect)}
    select asked.id, ${othersAhead(asked)} + ${ownAhead(asked)} as ahead
    from tasks as asked where ${dialect.isAmong("asked.id", ids)} and asked.state = 'queued'`.execute(lists);
  return new Map(rows.map(({ id, ahead }) => [id, ahead + 1]));
}
