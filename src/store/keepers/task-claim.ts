import { type RawBuilder, type Selectable, type SqlBool, sql } from "kysely";
import type { Task, TaskClaim } from "../../model/task.ts";
import { clockSlackMs } from "../query/clock-slack.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { projectIsFree, queueOrder, waitingProjects } from "./queue-order.ts";
import { hasRoom, hasRoomForAction, runsKeptRelease } from "./runner-room.ts";
import { mayTake, needsOfTask } from "./runner-rules.ts";
import { isDeploy, isHeld, taskShape } from "./task-shape.ts";

/** Two claims that race have different snapshots: the unique index over the held tasks of a project refuses the second one. */
export const claimedByAnother = {
  duplicate: "Another instance has just handed out a task of the same project.",
};

/** The task that a runner may take next. Null: there is none. */
export async function nextTask(
  scope: Scope,
  claim: TaskClaim,
  lock: Lock = withoutLock,
): Promise<Task | null> {
  const row = (await nextAction(scope, claim, lock)) ?? (await nextClaimable(scope, claim, lock));
  return row === undefined ? null : taskShape.read(row);
}

/**
 * The same. On PostgreSQL the task and its project are locked, and locked rows are skipped, so that claims do not wait for
 * each other. SQLite runs transactions one after the other.
 */
export function holdNextTask(scope: Scope, claim: TaskClaim): Promise<Task | null> {
  return nextTask(scope, claim, scope.dialect.hasRowLocks ? lockOfClaim : withoutLock);
}

type Lock = RawBuilder<unknown>;
const withoutLock = sql``;
const lockOfClaim = sql`for no key update of queued, projects skip locked`;

type Found = Selectable<Schema["tasks"]> | undefined;

/**
 * The first action with services of this runner. It waits only for a deploy or start of its project that runs, and for an action
 * before it; a command that runs in the release delays no action.
 */
async function nextAction({ db, dialect }: Scope, { runnerId }: TaskClaim, lock: Lock): Promise<Found> {
  const isChange = (task: "held" | "queued") =>
    sql`${dialect.textIn(`${task}.service_action`, "type")} <> 'exec'`;
  const { rows } = await sql<Selectable<Schema["tasks"]>>`select queued.* from runners as runner
    cross join tasks as queued
    cross join projects
    where runner.id = ${runnerId} and ${hasRoomForAction}
    and queued.runner_id = runner.id and queued.state = 'queued' and queued.service_action is not null
    and projects.id = queued.project_id
    and not exists (select 1 from tasks as held where held.project_id = queued.project_id and held.${isHeld}
      and (held.deploying_since is not null
        or (held.service_action is not null and ${isChange("held")} and ${isChange("queued")})))
    order by queued.id limit 1
    ${lock}`.execute(db);
  return rows[0];
}

/**
 * A task with a built workspace goes to the runner that has it, unless that runner is gone or the project was moved: then
 * the task is built again.
 */
const hasWorkspace = ({ goneBefore }: TaskClaim) => sql<SqlBool>`(
  first.approval is null or first.runner_id is null
    or first.runner_id = runner.id or projects.home_runner_id = runner.id
    or not exists (select 1 from runners as builder where builder.id = first.runner_id
      and builder.disabled = 0 and builder.last_seen_at >= ${goneBefore?.getTime() ?? 0}))`;

/**
 * The first task that no rule keeps from the runner, among the first task of each free project. A task created in the
 * future may start at once: the clock was set back since.
 */
async function nextClaimable({ db, dialect }: Scope, request: TaskClaim, lock: Lock): Promise<Found> {
  const nowMs = request.now.getTime();
  const { rows } = await sql<Selectable<Schema["tasks"]>>`with ${waitingProjects(dialect)}
    select queued.* from runners as runner
    cross join waiting
    cross join projects
    left join groups on groups.id = projects.group_id
    cross join tasks as queued
    where runner.id = ${request.runnerId} and (${hasRoom(nowMs)} or ${runsKeptRelease})
    and projects.id = waiting.project_id and ${projectIsFree}
    and ${mayTake(dialect, needsOfTask(dialect, "queued"))}
    and queued.id = (select first.id from tasks as first
      where first.project_id = waiting.project_id and first.state = 'queued' and first.${isDeploy}
      and (first.not_before is null or first.not_before <= ${nowMs}
        or first.created_at > ${nowMs + clockSlackMs})
      and ${hasWorkspace(request)}
      order by ${queueOrder("first")} limit 1)
    order by ${queueOrder("queued")} limit 1
    ${lock}`.execute(db);
  return rows[0];
}
