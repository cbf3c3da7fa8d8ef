import { type SqlBool, sql } from "kysely";
import type {
  OverviewFilter,
  OverviewKeeper,
  OverviewProject,
  ProjectCounts,
} from "../../model/console/overview.ts";
import type { Task, TaskState } from "../../model/task.ts";
import { longRead } from "../query/keeper-call.ts";
import { containsText } from "../query/like-pattern.ts";
import { sliceOf } from "../query/page.ts";
import type { Scope } from "../query/scope.ts";
import { workedTime } from "../query/worked-time.ts";
import { newestOfProjects } from "./asked-projects.ts";
import { walkNewest } from "./newest-walk.ts";
import { runStatistics } from "./overview-statistics.ts";
import { projects } from "./project-table.ts";
import { isDeploy, isHeld, isInState, isQueued, taskShape } from "./task-shape.ts";

const isWaiting = isInState("waiting");
const endStates = ["success", "failed", "timeout", "lost"] as const;

interface Ranked {
  id: number;
  parent_id: number | null;
  group_id: number | null;
  last_id: number | null;
  is_broken: number;
  is_active: number;
  is_found: number;
}

export function buildOverviewKeeper(scope: Scope): OverviewKeeper {
  const { db, dialect } = scope;
  return {
    projects: longRead(async (filter, request) => {
      const { page, pageSize, offset } = sliceOf(request);
      const ranked = withEnvironments(await rankedProjects(scope, filter));
      ranked.sort((a, b) => partOf(a) - partOf(b) || (b.last_id ?? 0) - (a.last_id ?? 0) || b.id - a.id);
      const { found, folded } = filtered(ranked, filter);
      const shown = found.slice(offset, offset + pageSize);
      const rows = await db
        .selectFrom("projects")
        .selectAll()
        .where(
          dialect.isAmong(
            "id",
            shown.map(({ id }) => id),
          ),
        )
        .execute();
      const byId = new Map(rows.map((row) => [row.id, projects.read(row)]));
      const items = shown.flatMap(({ id, is_broken }): OverviewProject[] => {
        const project = byId.get(id);
        return project === undefined ? [] : [{ project, isBroken: is_broken === 1 }];
      });
      const failing = ranked.filter((project) => isOf.broken(project) && !isOf.active(project));
      return {
        ...{ items, total: found.length, folded, page, pageSize, counts: countsOf(ranked) },
        failing: failing.map(({ id }) => id),
      };
    }),
    runs: longRead(async (projectIds, count) => {
      const rows = await newestOfProjects(scope, "tasks", projectIds, (isOfProject) =>
        db
          .selectFrom("tasks")
          .where(isOfProject)
          .where(isDeploy)
          .select("tasks.id")
          .orderBy("tasks.id", "desc")
          .limit(count),
      )
        .select(["id", "project_id", "state", "created_at", "finished_at"])
        .select(workedTime(dialect).as("worked_ms"))
        .select(
          sql<number>`case when state = 'success' and stages not like '%"state":"success"%' then 1 else 0 end`.as(
            "nothing_ran",
          ),
        )
        .orderBy("id")
        .execute();
      return rows.map(({ id, project_id, state, created_at, finished_at, worked_ms, nothing_ran }) => ({
        id,
        projectId: project_id,
        state,
        createdAt: new Date(created_at),
        finishedAt: finished_at === null ? null : new Date(finished_at),
        durationMs: worked_ms === null ? null : Number(worked_ms),
        nothingRan: nothing_ran === 1,
      }));
    }),
    statistics: longRead((projectIds, since, before) => runStatistics(scope, projectIds, since, before)),
    held: longRead(async (projectIds) => {
      const isOfThem = dialect.isAmong("project_id", projectIds);
      const of = (isState: typeof isHeld) =>
        db
          .selectFrom("tasks")
          .selectAll()
          .where(isState)
          .where(isDeploy)
          .where(isOfThem)
          .orderBy("id")
          .execute();
      return [...(await of(isHeld)), ...(await of(isWaiting))].map(taskShape.read);
    }),
    serving: longRead(async (taskIds) => {
      const rows = await db
        .selectFrom("tasks")
        .leftJoin("releases", "releases.task_id", "tasks.id")
        .selectAll("tasks")
        .select("releases.deployed_at")
        .where(dialect.isAmong("tasks.id", taskIds))
        .execute();
      return rows.map((row) => {
        const task = taskShape.read(row);
        return { task, since: row.deployed_at === null ? task.finishedAt : new Date(row.deployed_at) };
      });
    }),
    ended: longRead(async (visibleProjectIds, count) => {
      // Each state is found by its index; the newest of all are among the newest of each.
      const ofStates = await Promise.all(
        endStates.map((state) => newestInState(state, visibleProjectIds, count)),
      );
      return ofStates
        .flat()
        .sort((a, b) => b.id - a.id)
        .slice(0, count);
    }),
  };

  async function newestInState(
    state: TaskState,
    visibleProjectIds: number[] | undefined,
    count: number,
  ): Promise<Task[]> {
    const all = db.selectFrom("tasks").where(isInState(state)).where(isDeploy);
    const newest = all.orderBy("tasks.id", "desc");
    const walked =
      visibleProjectIds === undefined
        ? null
        : await walkNewest(scope, newest, visibleProjectIds, count, false);
    const ofEach = (projectIds: number[]) =>
      newestOfProjects(scope, "tasks", projectIds, (isOfProject) =>
        newest.where(isOfProject).select("tasks.id").limit(count),
      );
    const found =
      visibleProjectIds === undefined
        ? all
        : walked === null
          ? ofEach(visibleProjectIds)
          : db.selectFrom("tasks").where(dialect.isAmong("id", walked.ids));
    const rows = await found.selectAll().orderBy("id", "desc").limit(count).execute();
    return rows.map(taskShape.read);
  }
}

function filtered(ranked: Ranked[], { groupId, state, fold }: OverviewFilter) {
  const found = ranked.filter(
    (project) =>
      project.is_found === 1 &&
      (groupId === undefined || project.group_id === groupId) &&
      (state === undefined || isOf[state](project)),
  );
  const ran = found.filter((project) => !isOf.never_ran(project));
  if (!fold || state !== undefined || ran.length === 0) return { found, folded: 0 };
  return { found: ran, folded: found.length - ran.length };
}

const isOf: Record<NonNullable<OverviewFilter["state"]>, (project: Ranked) => boolean> = {
  broken: ({ is_broken }) => is_broken === 1,
  active: ({ is_active }) => is_active === 1,
  never_ran: ({ last_id }) => last_id === null,
};

/** The position of each project in the overview, from its newest tasks: each is found by an index. */
function rankedProjects(
  { db, dialect }: Scope,
  { visibleProjectIds, search = "" }: OverviewFilter,
): Promise<Ranked[]> {
  let found = db.selectFrom("projects");
  if (visibleProjectIds !== undefined) found = found.where(dialect.isAmong("projects.id", visibleProjectIds));
  const own = sql<SqlBool>`own.project_id = projects.id`;
  return found
    .select((eb) => [
      "projects.id",
      "projects.parent_id",
      "projects.group_id",
      eb
        .selectFrom("tasks as own")
        .where(own)
        .where(isDeploy)
        .select("own.id")
        .orderBy("own.id", "desc")
        .limit(1)
        .as("last_id"),
      sql<number>`case when (select own.state from tasks as own ${dialect.byIndex("tasks_project")}
        where ${own} and own.${isDeploy} and own.state in ('success', 'failed', 'timeout', 'lost')
        order by own.id desc limit 1) in ('failed', 'timeout', 'lost') then 1 else 0 end`.as("is_broken"),
      sql<number>`case when exists (select 1 from tasks as own where ${own} and own.${isHeld} and own.${isDeploy})
        or exists (select 1 from tasks as own where ${own} and own.${isQueued} and own.${isDeploy})
        or projects.id in (select project_id from tasks where ${isWaiting}) then 1 else 0 end`.as(
        "is_active",
      ),
      sql<number>`case when ${search === "" ? sql`1 = 1` : containsText("projects.name", search)} then 1 else 0 end`.as(
        "is_found",
      ),
    ])
    .execute();
}

/** The projects, each as broken and active as its environments, whose tasks are its own. */
function withEnvironments(all: readonly Ranked[]): Ranked[] {
  const placesOf = Map.groupBy(all, ({ parent_id }) => parent_id);
  return (placesOf.get(null) ?? []).map((project) => {
    const places = [project, ...(placesOf.get(project.id) ?? [])];
    const most = (field: "last_id" | "is_broken" | "is_active") =>
      Math.max(...places.map((place) => place[field] ?? 0));
    return {
      ...project,
      last_id: most("last_id") || null,
      is_broken: most("is_broken"),
      is_active: most("is_active"),
    };
  });
}

function partOf({ is_broken, is_active }: Ranked): number {
  return is_broken === 1 ? 0 : is_active === 1 ? 1 : 2;
}

function countsOf(ranked: Ranked[]): ProjectCounts {
  return {
    projects: ranked.length,
    broken: ranked.filter(({ is_broken }) => is_broken === 1).length,
    active: ranked.filter(({ is_active }) => is_active === 1).length,
  };
}
