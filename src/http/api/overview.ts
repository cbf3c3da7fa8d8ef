import { actsAsAdmin } from "../../account/permissions.ts";
import {
  type OverviewProject,
  overviewStates,
  type ProjectRun,
  type RunStatistics,
  type ServingTask,
} from "../../model/console/overview.ts";
import type { Permission } from "../../model/permission.ts";
import { isChecked } from "../../model/pipeline.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import { runningTitle } from "../../model/stage/task-stages.ts";
import { type Task, type TaskWait, workedMs } from "../../model/task.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { waitJson } from "../../task/view/task-json.ts";
import { waitsOf } from "../../task/view/task-waits.ts";
import { RunStatisticsCache } from "../run-statistics.ts";
import { meJson } from "./auth.ts";
import { callerOf } from "./context.ts";
import { deliveryCounts } from "./deliveries.ts";
import type { ApiDeps } from "./deps.ts";
import { noticesFor } from "./notices.ts";
import { overviewShape } from "./overview-shape.ts";
import { projectNameOf } from "./project-names.ts";
import { seriesShape } from "./push-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { queryId } from "./scalars.ts";
import { json, jsonOf, onlyGiven, pageQuery, z } from "./shape.ts";

const route = routesOf("overview");
const runsShown = 20;
const deploysShown = 8;
/** Some successful tasks deploy nothing. */
const deploysRead = 40;

const getOverview = route("get", "/overview", {
  summary: "The state of all projects",
  description:
    "One row per project that the caller may view: broken ones first, then those with unfinished tasks. `counts` are those of all, whatever the filter. With recent deploys, deliveries by outcome, and, for admins, figures of the push gateway.",
  access: "signed-in",
  query: {
    ...pageQuery,
    pageSize: z.coerce
      .number()
      .int()
      .min(1)
      .max(100)
      .default(50)
      .openapi({ type: "integer", minimum: 1, maximum: 100, default: 50 }),
    groupId: queryId.optional(),
    state: z.enum(overviewStates).optional(),
    fold: z.enum(["1"]).optional().openapi({
      description: "Leaves out projects that never ran, unless no project that matches has run.",
    }),
  },
  ok: json("The overview.", overviewShape),
});

export function overviewApi({ store, push, clock }: ApiDeps) {
  const { overview, search, deliveries } = store;
  const cache = new RunStatisticsCache(overview, clock);

  /** All that the rows of one page need, in a fixed number of queries. */
  async function rowsOf(items: OverviewProject[], permissionOn: (id: number) => Permission) {
    const ids = items.map(({ project }) => project.id);
    const liveIds = items.flatMap(({ project }) => project.liveTaskId ?? []);
    const [runs, held, serving] = await Promise.all([
      overview.runs(ids, runsShown),
      overview.held(ids),
      overview.serving(liveIds),
    ]);
    const runsOf = Map.groupBy(runs, ({ projectId }) => projectId);
    const statisticsOf = await cache.of(ids, runsOf);
    const heldOf = Map.groupBy(held, ({ projectId }) => projectId);
    const servingOf = new Map(serving.map((each) => [each.task.id, each]));
    const queued = await queuedTasks(runs, heldOf);
    const waitOf = await waitsOf(store, [...held, ...queued.values()], store.now());
    return items.map(({ project, isBroken }) => {
      const { id: projectId, name, sample, liveNote, liveTaskId, git } = project;
      const own = heldOf.get(projectId) ?? [];
      const periods = statisticsOf.get(projectId) ?? [];
      return {
        projectId,
        name,
        ref: git.ref,
        sample,
        permission: permissionOn(projectId),
        isBroken,
        live: liveTaskId === null ? null : liveJson(servingOf.get(liveTaskId)),
        ...reasonJson({ liveNote }),
        current: currentJson(own[0] ?? queued.get(projectId), waitOf),
        approvals: own.filter(({ state }) => state === "waiting").length,
        runs: (runsOf.get(projectId) ?? []).map(runJson),
        last30Days: periodJson(periods.find(({ isCurrent }) => isCurrent)),
        previous30Days: periodJson(periods.find(({ isCurrent }) => !isCurrent)),
      };
    });
  }

  /** The newest task of projects that have no other unfinished one, if it is queued. */
  async function queuedTasks(runs: ProjectRun[], heldOf: Map<number, Task[]>): Promise<Map<number, Task>> {
    const ids = runs
      .filter(({ projectId, state }) => state === "queued" && !heldOf.has(projectId))
      .map(({ id }) => id);
    if (ids.length === 0) return new Map();
    const tasks = await overview.serving(ids);
    return new Map(tasks.toSorted((a, b) => b.task.id - a.task.id).map(({ task }) => [task.projectId, task]));
  }

  async function deploysJson(visibleProjectIds: number[] | undefined) {
    const deployed = (await overview.ended(visibleProjectIds, deploysRead))
      .filter(
        (task) =>
          task.state !== "success" ||
          task.stages.some(({ name, state }) => isSideEffect(name) && state === "success"),
      )
      .slice(0, deploysShown);
    const nameOf = await projectNameOf(search, deployed);
    return deployed.map((task) => ({
      ...briefJson(task),
      projectId: task.projectId,
      projectName: nameOf(task.projectId),
      state: task.state,
      at: (task.finishedAt ?? task.createdAt).toISOString(),
      ms: workedMs(task),
    }));
  }

  return newApi().openapi(getOverview, async (c) => {
    const { page, pageSize, groupId, state, fold } = c.req.valid("query");
    const caller = callerOf(c);
    const visible = await c.var.permissions.visibleProjectIds(caller);
    const permissionOn = await c.var.permissions.permissionsOn("project", caller);
    const filter = onlyGiven({ visibleProjectIds: visible, groupId, state, fold: fold === "1" });
    const { items, counts, ...paged } = await overview.projects(filter, { page, pageSize });
    const [rows, deploys, counted, notices, gateway] = await Promise.all([
      rowsOf(items, permissionOn),
      deploysJson(visible),
      deliveryCounts(deliveries, clock, visible),
      noticesFor(c, store),
      actsAsAdmin(caller) && push.history !== null ? push.history.series() : null,
    ]);
    return c.json(
      {
        me: await meJson(c, store.users),
        counts,
        mayAddProject: await c.var.permissions.mayAddProject(caller),
        projects: { items: rows, ...paged },
        deploys,
        deliveries: counted,
        gateway: gateway && jsonOf(seriesShape, gateway),
        notices,
      },
      200,
    );
  });
}

export function briefJson(task: Task) {
  const [message = ""] = task.message.split("\n");
  return {
    taskId: task.id,
    ref: task.ref,
    commit: task.commit,
    message: message.slice(0, 200),
    author: task.author,
    by: task.triggeredBy,
  };
}

export function liveJson(serving: ServingTask | undefined) {
  if (serving === undefined) return null;
  const { task, since } = serving;
  return {
    ...briefJson(task),
    since: since?.toISOString() ?? null,
    isChecked: task.pipeline !== null && isChecked(task.pipeline),
  };
}

export function currentJson(task: Task | undefined, waitOf: (task: Task) => TaskWait | undefined) {
  if (task === undefined) return null;
  const stage = task.stages.find(({ state }) => state === "running");
  const since = stage?.startedAt ?? task.startedAt ?? task.createdAt;
  return {
    ...briefJson(task),
    state: task.state,
    stage: runningTitle(task.stages),
    since: since.toISOString(),
    ...waitJson(waitOf(task)),
  };
}

function runJson({ id, state, createdAt, finishedAt, durationMs, nothingRan }: ProjectRun) {
  return {
    id,
    state,
    at: (finishedAt ?? createdAt).toISOString(),
    ms: durationMs,
    ...(nothingRan ? { nothingRan } : {}),
  };
}

function periodJson(statistics: RunStatistics | undefined) {
  if (statistics === undefined) return null;
  const { runs, succeeded, medianMs } = statistics;
  return { runs, succeeded, medianMs };
}
