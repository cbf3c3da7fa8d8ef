import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { InQueue } from "../../model/task.ts";
import type { Dialect } from "../query/dialect.ts";
import type { Scope } from "../query/scope.ts";
import { isDeploy, isHeld } from "./task-shape.ts";

/**
 * The projects that have a queued task, read by stepping from one to the next in the index: a project with ten thousand
 * waiting tasks costs no more than one with a single task.
 */
export const waitingProjects = ({ byIndex }: Dialect) => {
  const first = (isNext: RawBuilder<SqlBool>) => sql`(select next.project_id from tasks as next
    ${byIndex("tasks_queued")} where next.state = 'queued' and next.${isDeploy} and ${isNext} order by next.project_id limit 1)`;
  return sql`recursive waiting(project_id) as (
    select ${first(sql`true`)}
    union all
    select ${first(sql`next.project_id > waiting.project_id`)} from waiting where waiting.project_id is not null)`;
};

export const projectIsFree = sql<SqlBool>`not exists (
  select 1 from tasks as held where held.project_id = waiting.project_id
  and held.${isHeld} and held.${isDeploy})`;

/** Which queued task is taken next: the one with the highest priority, among equals the oldest. */
export const queueOrder = (tasks: "first" | "queued") =>
  sql`${sql.ref(`${tasks}.priority`)} desc, ${sql.ref(`${tasks}.id`)}`;

/** What decides about the place of a task in the queue. */
interface Standing {
  project_id: number;
  id: number;
  priority: number;
  may_start_at: number;
}

/** The same as columns of a query. */
type StandingColumns = { [Name in keyof Standing]: RawBuilder<number> };

/** Whether the task `ahead` is taken before this one: the order of `queueOrder`, as far as its time has come. */
const isAhead = ({
  id,
  priority,
  may_start_at,
}: Standing | StandingColumns) => sql<SqlBool>`ahead.state = 'queued' and ahead.${isDeploy}
  and (ahead.priority > ${priority} or (ahead.priority = ${priority} and ahead.id < ${id}))
  and (ahead.not_before is null or ahead.not_before <= ${may_start_at})`;

export const othersAhead = (
  task: Standing | StandingColumns,
) => sql`(select count(*) from waiting where waiting.project_id <> ${task.project_id} and ${projectIsFree}
  and exists (select 1 from tasks as ahead where ahead.project_id = waiting.project_id and ${isAhead(task)}))`;

export const ownAhead = (task: Standing | StandingColumns) =>
  sql`(select count(*) from tasks as ahead where ahead.project_id = ${task.project_id} and ${isAhead(task)})`;

/** The positions of tasks in the queue, by their ids: one query for all tasks of a page. */
export async function positionsOf(
  { db, dialect }: Scope,
  tasks: readonly InQueue[],
  now: Date,
): Promise<Record<number, number>> {
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
    from tasks as asked where ${dialect.isAmong("asked.id", ids)} and asked.state = 'queued'
    and asked.${isDeploy}`.execute(db);
  return Object.fromEntries(rows.map(({ id, ahead }) => [id, ahead + 1]));
}
