import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type IsolationLevel, isIsolatedEnough, isolationLevels } from "../../model/execution.ts";
import type { Task, TaskClaim } from "../../model/task.ts";
import { clockSlackMs } from "../query/clock-slack.ts";
import type { Dialect } from "../query/dialect.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { projectIsFree, waitingProjects } from "./queue-order.ts";
import { isHeld, taskShape } from "./task-shape.ts";

/**
 * Moves the first claimable task to `dispatched`. On PostgreSQL the task and its project are locked, and locked rows
 * are skipped, so that claims do not wait for each other. If their snapshots still overlap, the unique index over held
 * tasks of a project rejects the second one. Most claims find nothing, so they read before they lock.
 */
export async function claimTask(scope: Scope, request: TaskClaim): Promise<Task | null> {
  const { db, dialect } = scope;
  if ((await nextFor(scope, request, withoutLock)) === undefined) return null;
  // Two claims of one runner must not exceed its limit together: the second waits here.
  if (dialect.hasRowLocks)
    await db.selectFrom("runners").select("id").where("id", "=", request.runnerId).forUpdate().execute();
  const next = await nextFor(scope, request, dialect.hasRowLocks ? lockOfClaim : withoutLock);
  if (next === undefined) return null;
  const update = db
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
    .returningAll();
  const row = await orFault(dialect, update.executeTakeFirst(), {
    duplicate: "Another instance has just handed out a task of the same project.",
  });
  return row === undefined ? null : taskShape.read(row);
}

const withoutLock = sql``;
const lockOfClaim = sql`for no key update of queued, projects skip locked`;

async function nextFor(
  scope: Scope,
  request: TaskClaim,
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
 * The admins' current rules. A claim may wait for long, and a runner that meanwhile was disabled, bound to other groups or
 * lost a label must not get a task under the old rules. task/queue/waiting.ts describes the same rules.
 */
const isGranted = ({ isSubset, isListed }: Dialect, runnerId: number) => sql<SqlBool>`not exists (
    select 1 from runners where runners.id = ${runnerId} and (
      runners.disabled = 1
      or not ${isSubset("projects.labels", sql.ref("runners.labels"))}
      or not ${isSubset("projects.needs", sql.ref("runners.features"))}
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
 * A task with a built workspace goes to the runner that has it, unless that runner is gone or the project was moved: then
 * the task is built again.
 */
const hasWorkspace = ({ runnerId, approvals = false, goneBefore }: TaskClaim) => sql<SqlBool>`(
  first.approval is null or (${approvals ? 1 : 0} = 1 and (first.runner_id is null
    or first.runner_id = ${runnerId} or projects.home_runner_id = ${runnerId}
    or not exists (select 1 from runners as builder where builder.id = first.runner_id
      and builder.disabled = 0 and builder.last_seen_at >= ${goneBefore?.getTime() ?? 0}))))`;

/**
 * The first task that may start, among the first task of each free project. A task created in the future may start at
 * once: the clock was set back since.
 */
async function nextClaimable(
  { db, dialect }: Scope,
  request: TaskClaim,
  lock: RawBuilder<unknown>,
): Promise<{ id: number } | undefined> {
  const { runnerId, now, labels, isolation = "none", containers = false } = request;
  const { rows } = await sql<{ id: number }>`with ${waitingProjects(dialect)}
    select queued.id from waiting
    cross join projects
    cross join tasks as queued
    where projects.id = waiting.project_id and ${dialect.isSubset("projects.labels", sql`${JSON.stringify(labels)}`)}
    and (projects.home_runner_id is null or projects.home_runner_id = ${runnerId})
    and ${isGranted(dialect, runnerId)} and ${isSafe(isolation, containers)} and ${projectIsFree}
    and queued.id = (select first.id from tasks as first
      where first.project_id = waiting.project_id and first.state = 'queued'
      and (first.not_before is null or first.not_before <= ${now.getTime()}
        or first.created_at > ${now.getTime() + clockSlackMs})
      and ${hasWorkspace(request)}
      order by first.priority desc, first.id limit 1)
    order by queued.priority desc, queued.id limit 1
    ${lock}`.execute(db);
  return rows[0];
}
