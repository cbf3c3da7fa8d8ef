import type { Expression, SelectQueryBuilder, SqlBool } from "kysely";
import type { Page, PageRequest } from "../../model/page.ts";
import { isFinished as isFinalState, type Task, type TaskFilter } from "../../model/task.ts";
import { cappedCount, sliceOf, totalCap } from "../query/page.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { askedProjects, isOfProjects, newestOfProjects } from "./asked-projects.ts";
import { walkNewest } from "./newest-walk.ts";
import { isFinished, isHeld, isInState, isQueued, taskShape } from "./task-shape.ts";

type Tasks = SelectQueryBuilder<Schema, "tasks", object>;

/** Newest first. */
export async function listTasks(scope: Scope, filter: TaskFilter, request: PageRequest): Promise<Page<Task>> {
  const { page, pageSize, offset } = sliceOf(request);
  const projectIds = await askedProjects(scope, filter);
  const { found, total } = await newest(scope, filter, projectIds, offset + pageSize);
  const rows = await found.selectAll().orderBy("id", "desc").limit(pageSize).offset(offset).execute();
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

/** The newest tasks, at least the first `count`, and the number of all. */
async function newest(
  scope: Scope,
  filter: TaskFilter,
  projectIds: number[] | null,
  count: number,
): Promise<{ found: Tasks; total: number }> {
  const { db, dialect } = scope;
  const parts = partsOf(filter);
  const isOne = projectIds === null || projectIds.length === 1;
  const newestIds = (found: Tasks) => inOrder(found, filter).select("tasks.id").limit(count);
  const isNewest: ReturnType<typeof newestIds>[] = [];
  let total = 0;
  for (const part of parts) {
    const all = matching(scope, filter, projectIds, part);
    const own = passing(scope, filter, part);
    const walked = isOne ? null : await walkNewest(scope, inOrder(own, filter), projectIds, count, false);
    total += walked?.isAll ? walked.ids.length : await cappedCount(db, all);
    if (isOne && parts.length === 1) return { found: all, total };
    if (walked !== null)
      isNewest.push(db.selectFrom("tasks").where(dialect.isAmong("tasks.id", walked.ids)).select("tasks.id"));
    else if (!isOne)
      isNewest.push(
        newestOfProjects(scope, "tasks", projectIds, (isOfProject) =>
          newestIds(own.where(isOfProject)),
        ).select("tasks.id"),
      );
    else {
      // SQLite takes a limit in a part of a union only as a query of its own.
      const ids = db.selectFrom(newestIds(all).as("part")).select("part.id");
      isNewest.push(db.selectFrom("tasks").where("tasks.id", "in", ids).select("tasks.id"));
    }
  }
  const ids = isNewest.reduce((union, part) => union.unionAll(part));
  return { found: db.selectFrom("tasks").where("tasks.id", "in", ids), total };
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
