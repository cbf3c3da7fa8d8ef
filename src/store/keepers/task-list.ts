import type { SelectQueryBuilder } from "kysely";
import type { Page, PageRequest } from "../../model/page.ts";
import type { Task, TaskFilter } from "../../model/task.ts";
import { cappedCount, sliceOf } from "../query/page.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { askedProjects, isOfProjects, newestOfProjects } from "./asked-projects.ts";
import { isInState, taskShape } from "./task-shape.ts";

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
  const total = await cappedCount(scope.db, matching(scope, filter, projectIds));
  return { items: rows.map(taskShape.read), total, page, pageSize };
}

function newest(scope: Scope, filter: TaskFilter, projectIds: number[] | null, count: number): Tasks {
  if (projectIds === null || projectIds.length === 1) return matching(scope, filter, projectIds);
  return newestOfProjects(scope, "tasks", projectIds, (isOfProject) =>
    inState(scope, filter).where(isOfProject).select("tasks.id").orderBy("tasks.id", "desc").limit(count),
  );
}

function matching(scope: Scope, filter: TaskFilter, projectIds: number[] | null): Tasks {
  const found = inState(scope, filter);
  return projectIds === null ? found : found.where(isOfProjects(scope, projectIds));
}

function inState({ db }: Scope, { state, ref }: TaskFilter): Tasks {
  let found: Tasks = db.selectFrom("tasks");
  if (state !== undefined) found = found.where(isInState(state));
  if (ref !== undefined) found = found.where("ref", "=", ref);
  return found;
}
