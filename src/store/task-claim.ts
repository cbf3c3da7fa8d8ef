import { type SqlBool, sql } from "kysely";
import type { ClaimRequest, Task } from "../model/task.ts";
import type { Scope } from "./scope.ts";
import { isHeld, taskShape } from "./task-shape.ts";

/** Two instances that meet on one project try again; a third meeting in a row is left to the next poll. */
const maxAttempts = 3;

/**
 * Moves the first claimable task to `dispatched`. On PostgreSQL the task and its project are locked and locked ones
 * skipped, so that claimers pass each other; where their snapshots still overlap, the unique index over held tasks of
 * a project refuses the second one.
 */
export async function claimTask(scope: Scope, request: ClaimRequest): Promise<Task | null> {
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
  const { db } = scope;
  if ((await heldBy(scope, request.runnerId)) >= request.concurrency) return null;
  const next = await nextClaimable(scope, request);
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

/** Counts what the runner holds; on PostgreSQL its row is locked first, so that two claims of it cannot both fit. */
async function heldBy({ db, dialect }: Scope, runnerId: number): Promise<number> {
  if (dialect.hasRowLocks)
    await db.selectFrom("runners").select("id").where("id", "=", runnerId).forUpdate().execute();
  const row = await db
    .selectFrom("tasks")
    .select((eb) => eb.fn.countAll<number>().as("held"))
    .where("runner_id", "=", runnerId)
    .where(isHeld)
    .executeTakeFirstOrThrow();
  return row.held;
}

/** No task of the project of `queued` is with a runner. */
const projectIsFree = sql<SqlBool>`not exists (
  select 1 from tasks as held where held.project_id = queued.project_id
  and held.state in ('dispatched', 'running', 'canceling'))`;

function nextClaimable({ db, dialect }: Scope, request: ClaimRequest): Promise<{ id: number } | undefined> {
  return db
    .selectFrom("tasks as queued")
    .innerJoin("projects", "projects.id", "queued.project_id")
    .select("queued.id")
    .where(sql<SqlBool>`queued.state = 'queued'`)
    .where((eb) =>
      eb.or([eb("queued.not_before", "is", null), eb("queued.not_before", "<=", request.now.getTime())]),
    )
    .where(projectIsFree)
    .where(dialect.isSubset("projects.labels", request.labels))
    .orderBy("queued.priority", "desc")
    .orderBy("queued.id")
    .limit(1)
    .$if(dialect.hasRowLocks, (query) => query.forNoKeyUpdate(["queued", "projects"]).skipLocked())
    .executeTakeFirst();
}

/**
 * What a claim would hand out before this task: the order is the claim's own. Of another project only its first task
 * can be among them, and none while that project is busy: this task would overtake the others.
 */
export async function positionOf({ db }: Scope, task: Task, now: Date): Promise<number> {
  const mayStartAt = Math.max(now.getTime(), task.notBefore?.getTime() ?? 0);
  const row = await db
    .selectFrom("tasks as queued")
    .select((eb) => [
      sql<number>`count(distinct case when ${eb.ref("queued.project_id")} <> ${task.projectId} and ${projectIsFree}
        then ${eb.ref("queued.project_id")} end)`.as("others"),
      sql<number>`count(case when ${eb.ref("queued.project_id")} = ${task.projectId} then 1 end)`.as("own"),
    ])
    .where(sql<SqlBool>`queued.state = 'queued'`)
    .where((eb) =>
      eb.or([
        eb("queued.priority", ">", task.priority),
        eb.and([eb("queued.priority", "=", task.priority), eb("queued.id", "<", task.id)]),
      ]),
    )
    .where((eb) => eb.or([eb("queued.not_before", "is", null), eb("queued.not_before", "<=", mayStartAt)]))
    .executeTakeFirstOrThrow();
  return Number(row.others) + Number(row.own) + 1;
}
