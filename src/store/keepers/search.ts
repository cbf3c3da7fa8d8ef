import { type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import type { FoundTask, SearchKeeper, SearchRequest } from "../../model/console/search.ts";
import type { Project } from "../../model/project.ts";
import { longRead } from "../query/keeper-call.ts";
import { containsText, likePattern } from "../query/like-pattern.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { newestOfProjects } from "./asked-projects.ts";
import { walkNewest } from "./newest-walk.ts";
import { isFinished, isHeld, isInState } from "./task-shape.ts";

/** Messages have no index: only this many of the newest tasks are read. */
const tasksRead = 2000;
/** Of a caller who may not view all projects: the newest of each, of at most so many projects. */
const readPerProject = 50;
const projectsRead = 200;
/** Of the tasks that match the first digits of a commit, the newest of this many are found. */
const commitsRead = 200;
const commitsMatched = 2000;

const taskColumns = [
  "id",
  "project_id as projectId",
  "state",
  "ref",
  "commit",
  "message",
  "author",
  "created_at",
] as const;

type TaskRow = Omit<FoundTask, "createdAt"> & { created_at: number };
type Tasks = SelectQueryBuilder<Schema, "tasks", object>;

export function buildSearchKeeper(scope: Scope): SearchKeeper {
  const { db, dialect } = scope;
  const isVisible = (column: string, { visibleProjectIds }: SearchRequest): RawBuilder<SqlBool> =>
    visibleProjectIds === undefined ? sql<SqlBool>`1 = 1` : dialect.isAmong(column, visibleProjectIds);

  return {
    projects: longRead(async (request) => {
      const start = `${likePattern(request.text.toLowerCase())}%`;
      const found = await db
        .selectFrom("projects")
        .select(["id"])
        .where((eb) => eb.and(wordsOf(request.text).map((word) => containsText("name", word))))
        .where(isVisible("id", request))
        .orderBy(sql`case when lower(name) like ${start} escape '\\' then 0 else 1 end`)
        .orderBy("name")
        .limit(request.limit)
        .execute();
      const ids = found.map(({ id }) => id);
      const rows = await db
        .selectFrom("projects")
        .select(["id", "name", "git"])
        .where(dialect.isAmong("id", ids))
        .execute();
      return rows
        .map(({ id, name, git }) => ({ id, name, git: JSON.parse(git) as Project["git"] }))
        .sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
    }),
    branches: longRead((request) =>
      db
        .selectFrom("ref_tips")
        .select(["project_id as projectId", "ref", "commit"])
        .where(containsText("ref", request.text))
        .where(isVisible("project_id", request))
        .limit(request.limit)
        .execute(),
    ),
    commits: longRead(async (request) => {
      const start = request.text.toLowerCase();
      // All that starts so: no digit comes after f, and g does.
      const isCommit = sql<SqlBool>`("commit" >= ${start} and "commit" < ${`${start}g`})`;
      // The inner limit makes SQLite read by the commit also where it would choose the index by project.
      const of = (isState: Expression<SqlBool>) =>
        db
          .selectFrom((eb) =>
            eb
              .selectFrom("tasks")
              .selectAll()
              .where(isState)
              .where(isCommit)
              .limit(commitsMatched)
              .as("matched"),
          )
          .select(taskColumns)
          .where(isVisible("project_id", request))
          .limit(commitsRead)
          .execute();
      const rows = [...(await of(isHeld)), ...(await of(isInState("waiting"))), ...(await of(isFinished))];
      return rows
        .toSorted((a, b) => b.id - a.id)
        .slice(0, request.limit)
        .map(readTask);
    }),
    tasks: longRead(async (request) => {
      const recent = await recentTasks(scope, request);
      const rows = await recent
        .select(taskColumns)
        .where((eb) =>
          eb.and(
            wordsOf(request.text).map((word) =>
              eb.or(["message", "author", "triggered_by"].map((column) => containsText(column, word))),
            ),
          ),
        )
        .orderBy("id", "desc")
        .limit(request.limit)
        .execute();
      return rows.map(readTask);
    }),
    users: longRead(({ text, limit }) =>
      db
        .selectFrom("users")
        .select(["id", "username"])
        .where(containsText("username", text))
        .orderBy("username")
        .limit(limit)
        .execute(),
    ),
    names: longRead((projectIds) =>
      db
        .selectFrom("projects")
        .select(["id", "name", "live_task_id as liveTaskId", "parent_id as parentId"])
        .where(dialect.isAmong("id", projectIds))
        .execute(),
    ),
  };
}

async function recentTasks(scope: Scope, { visibleProjectIds }: SearchRequest): Promise<Tasks> {
  const { db, dialect } = scope;
  const newest = db.selectFrom("tasks").orderBy("tasks.id", "desc");
  if (visibleProjectIds === undefined) {
    const ids = newest.select("tasks.id").limit(tasksRead).as("newest");
    return db.selectFrom("tasks").where("tasks.id", "in", db.selectFrom(ids).select("id"));
  }
  const walked = await walkNewest(scope, newest, visibleProjectIds, tasksRead, false);
  if (walked !== null) return db.selectFrom("tasks").where(dialect.isAmong("tasks.id", walked.ids));
  return newestOfProjects(scope, "tasks", visibleProjectIds.slice(-projectsRead), (isOfProject) =>
    db
      .selectFrom("tasks")
      .where(isOfProject)
      .select("tasks.id")
      .orderBy("tasks.id", "desc")
      .limit(readPerProject),
  );
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

function readTask({ created_at, ...task }: TaskRow): FoundTask {
  return { ...task, createdAt: new Date(created_at) };
}
