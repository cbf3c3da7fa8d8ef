import type { Expression, SelectQueryBuilder, SqlBool } from "kysely";
import type { Page, PageRequest } from "../../model/page.ts";
import { isFinished as isFinalState, type Task, type TaskFilter } from "../../model/task.ts";
import { cappedCount, sliceOf, totalCap } from "../query/page.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { askedProjects, isOfProjects, newestOfProjects } from "./asked-projects.ts";
import { isFinished, isHeld, isInState, isQueued, taskShape } from "./task-shape.ts";

type Tasks = SelectQueryBuilder<Schema, "tasks", object>;

/** Newest first. */
export async function listTasks(scope: Scope, filter: TaskFilter, request: PageRequest): Promise<Page<Task>> {
  const { page, pageSize, offset } = sliceOf(request);
  const projectIds = await askedProjects(scope, filter);
  const rows = await newest(scope, filter, projectIds, offset + pageSize)
    .selectAll()
    .orderBy("id", "desc")
    .limit(pageSize)
    .offset(offset)
    .execute();
  let total = 0;
  for (const part of partsOf(filter))
    total += await cappedCount(scope.db, matching(scope, filter, projectIds, part));
  return { items: rows.map(taskShape.read), total: Math.min(total, totalCap), page, pageSize };
}

/**
 * The indexes by author, ref, trigger and time hold finished tasks only. A list that needs one of them reads the
 * finished tasks and, by their own indexes, the unfinished ones. Null: all states.
 */
function partsOf({ state, ref, author, trigger, from, to }: TaskFilter): (Expression<SqlBool>[] | null)[] {
  const needsIndex = [ref, author, trigger, from, to].some((value) => value !== undefined);
  if (state !== undefined)
    return [isFinalState(state) && needsIndex ? [isInState(state), isFinished] : [isInState(state)]];
  return needsIndex ? [[isFinished], [isQueued], [isHeld], [isInState("waiting")]] : [null];
}

function newest(scope: Scope, filter: TaskFilter, projectIds: number[] | null, count: number): Tasks {
  const parts = partsOf(filter);
  const isOne = projectIds === null || projectIds.length === 1;
  const [only = null] = parts;
  if (isOne && parts.length === 1) return matching(scope, filter, projectIds, only);
  const newestIds = (found: Tasks) => inOrder(found, filter).select("tasks.id").limit(count);
  const { db } = scope;
  const isNewest = parts.map((part) => {
    if (!isOne)
      return newestOfProjects(scope, "tasks", projectIds, (isOfProject) =>
        newestIds(passing(scope, filter, part).where(isOfProject)),
      ).select("tasks.id");
    // SQLite takes a limit in a part of a union only as a query of its own.
    const ids = newestIds(matching(scope, filter, projectIds, part)).as("part");
    return db
      .selectFrom("tasks")
      .where("tasks.id", "in", db.selectFrom(ids).select("part.id"))
      .select("tasks.id");
  });
  const [first, ...more] = isNewest;
  if (first === undefined) return matching(scope, filter, projectIds, only);
  const ids = more.reduce((union, part) => union.unionAll(part), first);
  return db.selectFrom("tasks").where("tasks.id", "in", ids);
}

/** With a time alone, the index by time gives the newest; its order is that of the ids. */
function inOrder(found: Tasks, { author, ref, trigger, from, to }: TaskFilter): Tasks {
  const isByTime =
    (from !== undefined || to !== undefined) && [author, ref, trigger].every((value) => value === undefined);
  const sorted = isByTime ? found.orderBy("tasks.created_at", "desc") : found;
  return sorted.orderBy("tasks.id", "desc");
}

function matching(
  scope: Scope,
  filter: TaskFilter,
  projectIds: number[] | null,
  part: Expression<SqlBool>[] | null,
): Tasks {
  const found = passing(scope, filter, part);
  return projectIds === null ? found : found.where(isOfProjects(scope, projectIds));
}

function passing(
  { db }: Scope,
  { ref, author, trigger, from, to }: TaskFilter,
  part: Expression<SqlBool>[] | null,
): Tasks {
  let found: Tasks = db.selectFrom("tasks");
  for (const isOfPart of part ?? []) found = found.where(isOfPart);
  if (ref !== undefined) found = found.where("ref", "=", ref);
  if (author !== undefined) found = found.where("author", "=", author);
  if (trigger !== undefined) found = found.where("trigger_type", "=", trigger);
  if (from !== undefined) found = found.where("created_at", ">=", from.getTime());
  if (to !== undefined) found = found.where("created_at", "<", to.getTime());
  return found;
}
