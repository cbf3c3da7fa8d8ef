import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import type {
  Activity,
  ActivityFilter,
  ActivityKeeper,
  ActivityKind,
  ActivityPlace,
} from "../../model/console/activity.ts";
import { type DeliveryStatus, deliveryStatuses } from "../../model/delivery.ts";
import { type Task, type TaskState, taskStates } from "../../model/task.ts";
import { longRead } from "../query/keeper-call.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { askedProjects, isOfProjects, newestOfProjects } from "./asked-projects.ts";
import { newest, type ResolvedFilter, shortCommit } from "./delivery-list.ts";
import { summaryShape } from "./delivery-shape.ts";
import { walkNewest } from "./newest-walk.ts";
import { followed, readFollowed } from "./replaced-delivery.ts";
import { isFinished, taskShape } from "./task-shape.ts";

type Tasks = SelectQueryBuilder<Schema, "tasks", object>;
interface Asked extends ActivityFilter {
  projectIds: number[] | null;
  place: ActivityPlace | null;
}

const statusesOf: Partial<Record<ActivityKind, readonly DeliveryStatus[]>> = {
  changes: ["accepted", "merged", "failed"],
  stopped: ["ignored", "rejected", "failed"],
};

/** Word for word as in the indexes over these tasks. */
const isByHand = sql<SqlBool>`trigger_type = 'manual'`;

/** A task that several deliveries share builds one of them: its own, until another one replaced that. */
const isBuilt = sql<SqlBool>`(not exists (select 1 from replaced_deliveries where delivery_id = deliveries.id)
  and (deliveries.task_id > 0 or exists (select 1 from replaced_deliveries
    where task_id = deliveries.merged_into_task_id and replaced_by = deliveries.id)))`;

const leadsTo = sql`case when deliveries.task_id > 0 then deliveries.task_id else deliveries.merged_into_task_id end`;

/** Deliveries and the tasks that none asked for are read apart, each by an index in the order of the list, and merged. */
export function buildActivityKeeper(scope: Scope): ActivityKeeper {
  return {
    list: longRead(async (filter, place, limit) => {
      const asked = { ...filter, place, projectIds: await askedProjects(scope, filter) };
      const delivered = await deliveriesOf(scope, asked, limit);
      const alone = [
        ...(await tasksByHand(scope, asked, limit)),
        // They are older than every delivery.
        ...(delivered.length < limit ? await tasksLeft(scope, asked, limit) : []),
      ];
      const byHand = alone.map((task) => ({
        at: task.createdAt,
        delivery: null,
        task,
        isBuilt: true as const,
      }));
      return [...delivered, ...byHand].sort(newestFirst).slice(0, limit);
    }),
  };
}

function newestFirst(a: Activity, b: Activity): number {
  const apart = b.at.getTime() - a.at.getTime();
  if (apart !== 0) return apart;
  if (a.delivery !== null && b.delivery !== null) return b.delivery.id - a.delivery.id;
  if (a.delivery === null && b.delivery === null) return b.task.id - a.task.id;
  return a.delivery === null ? 1 : -1;
}

async function deliveriesOf(scope: Scope, asked: Asked, limit: number): Promise<Activity[]> {
  const filter = deliveryFilterOf(asked);
  if (filter === null) return [];
  const { found } = await newest(scope, filter, limit);
  const rows = await found
    .select(summaryShape.columns)
    .select([...followed, isBuilt.as("is_built")])
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  const read = rows.map((row) => ({
    delivery: { ...summaryShape.read(row), ...readFollowed(row) },
    isBuilt: Boolean(row.is_built),
  }));
  const idOf = ({ task_id, merged_into_task_id }: (typeof read)[number]["delivery"]) =>
    task_id > 0 ? task_id : merged_into_task_id;
  const ids = [...new Set(read.flatMap(({ delivery }) => idOf(delivery) ?? []))];
  const tasks = await scope.db
    .selectFrom("tasks")
    .selectAll()
    .where(scope.dialect.isAmong("tasks.id", ids))
    .execute();
  const taskOf = new Map(tasks.map((row) => [row.id, taskShape.read(row)]));
  return read.map(({ delivery, isBuilt: isOwn }) => {
    const task = taskOf.get(idOf(delivery) ?? 0) ?? null;
    return { at: delivery.created_at, delivery, task, isBuilt: isOwn && task !== null };
  });
}

/** Null: no delivery can match. */
function deliveryFilterOf(asked: Asked): ResolvedFilter | null {
  const { show, outcome, trigger, place, projectIds, code, author, search, from, to } = asked;
  if (trigger === "manual") return null;
  const status = deliveryStatuses.find((each) => each === outcome);
  const state = taskStates.find((each) => each === outcome);
  const statuses = outcome === undefined ? statusesOf[show] : undefined;
  const isState = state === undefined ? undefined : reached(state, status);
  const given = { projectIds, code, author, search, from, statuses, also: isState };
  const filter = { ...given, to, ...(state === undefined ? { status } : {}) };
  // At the time of the last row, deliveries come before tasks.
  const after =
    place === null
      ? {}
      : place.kind === "delivery"
        ? { place: { created_at: place.at, id: place.id } }
        : { to: earlier(to, place.at) };
  const all = { ...filter, ...after };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as never;
}

function reached(state: TaskState, status: DeliveryStatus | undefined): RawBuilder<SqlBool> {
  const isIn = sql<SqlBool>`(exists (select 1 from tasks where tasks.id = ${leadsTo} and tasks.state = ${state})
    and ${isBuilt})`;
  return status === undefined ? isIn : sql<SqlBool>`(deliveries.status = ${status} or ${isIn})`;
}

function earlier(a: Date | undefined, b: Date): Date {
  return a !== undefined && a < b ? a : b;
}

function tasksByHand(scope: Scope, asked: Asked, limit: number): Promise<Task[]> {
  if (asked.trigger === "webhook") return Promise.resolve([]);
  return newestTasks(scope, asked, isByHand, limit);
}

/**
 * Tasks of pushes whose delivery was deleted after its retention time: those from before the oldest delivery. One that
 * has not finished yet is left out until it has.
 */
async function tasksLeft(scope: Scope, asked: Asked, limit: number): Promise<Task[]> {
  if (asked.trigger === "manual") return [];
  const oldest = await scope.db
    .selectFrom("deliveries")
    .select("created_at")
    .orderBy("created_at")
    .limit(1)
    .executeTakeFirst();
  const isLeft = sql<SqlBool>`(trigger_type <> 'manual' and ${isFinished})`;
  if (oldest === undefined) return newestTasks(scope, asked, isLeft, limit);
  const to = earlier(asked.to, new Date(oldest.created_at));
  return newestTasks(scope, { ...asked, to }, isLeft, limit);
}

/** The newest tasks of a kind that match a filter. */
async function newestTasks(
  scope: Scope,
  asked: Asked,
  isOfKind: RawBuilder<SqlBool>,
  limit: number,
): Promise<Task[]> {
  const { projectIds, show, outcome, code } = asked;
  const state = taskStates.find((each) => each === outcome);
  const isOfNoTask = outcome === undefined ? show === "stopped" : state === undefined;
  if (isOfNoTask || code !== undefined) return [];
  const all = matching(scope, asked, isOfKind, state);
  const read = async (found: Tasks) =>
    (await inOrder(found).selectAll().limit(limit).execute()).map(taskShape.read);
  if (projectIds === null) return read(all);
  if (projectIds.length === 1) return read(all.where(isOfProjects(scope, projectIds)));
  const walked = await walkNewest(scope, inOrder(all), projectIds, limit);
  if (walked !== null)
    return read(scope.db.selectFrom("tasks").where(scope.dialect.isAmong("tasks.id", walked.ids)));
  return read(
    newestOfProjects(scope, "tasks", projectIds, (isOfProject) =>
      inOrder(all.where(isOfProject)).select("tasks.id").limit(limit),
    ),
  );
}

function inOrder(found: Tasks): Tasks {
  return found.orderBy("created_at", "desc").orderBy("tasks.id", "desc");
}

function matching(
  { db }: Scope,
  { author, search = "", from, to, place }: Asked,
  isOfKind: RawBuilder<SqlBool>,
  state: TaskState | undefined,
): Tasks {
  let found: Tasks = db.selectFrom("tasks").where(isOfKind);
  if (state !== undefined) found = found.where("state", "=", state);
  if (author !== undefined) found = found.where("author", "=", author);
  if (from !== undefined) found = found.where("created_at", ">=", from.getTime());
  if (to !== undefined) found = found.where("created_at", "<", to.getTime());
  if (search !== "") found = found.where(isFound(search));
  if (place === null) return found;
  const time = place.at.getTime();
  found = found.where("created_at", "<=", time);
  if (place.kind === "delivery") return found;
  return found.where((eb) => eb.or([eb("created_at", "<", time), eb("tasks.id", "<", place.id)]));
}

/** As with deliveries, whose refs have no prefix. */
function isFound(search: string): RawBuilder<SqlBool> {
  const isRef = sql`ref in (${search}, ${`refs/heads/${search}`}, ${`refs/tags/${search}`})`;
  if (!shortCommit.test(search)) return sql<SqlBool>`(${isRef} or "commit" = ${search})`;
  const start = search.toLowerCase();
  return sql<SqlBool>`(${isRef} or ("commit" >= ${start} and "commit" < ${`${start}g`}))`;
}
