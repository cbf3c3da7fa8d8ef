import type { OverviewProject } from "../../model/console/overview.ts";
import { ownPipeline } from "../../model/environment/environment.ts";
import type { Permission } from "../../model/permission.ts";
import { firstRouteUrl } from "../../model/service/route-place.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { waitsOf } from "../../task/view/task-waits.ts";
import { meJson, meShape } from "./auth.ts";
import { callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { needShape, needsFor } from "./needs.ts";
import { briefJson, currentJson, liveJson } from "./overview.ts";
import { briefTask, rowFields } from "./overview-shape.ts";
import { projectShape, serviceSummary } from "./project-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { id, queryId, text, time } from "./scalars.ts";
import { json, onlyGiven, pageQuery, z } from "./shape.ts";
import { taskState } from "./task-shape.ts";

const route = routesOf("overview");
const pageSizes = { minimum: 1, maximum: 100, default: 50 };
const maxGroups = 200;
const count = z.number().int();

const rowShape = z.object({
  ...rowFields,
  groupId: id.nullable(),
  publicUrl: z.string().openapi({ description: "Where users reach it; empty: not known." }),
  environments: z
    .array(
      z.object({
        ...{ name: z.string(), projectId: id, services: projectShape.shape.services },
        live: rowFields.live,
      }),
    )
    .openapi({ description: "What serves in each of its environments." }),
  services: projectShape.shape.services,
  last: z
    .object({
      ...briefTask,
      state: taskState,
      at: time.meta({ description: "When it ended; until then, when it was created." }),
      nothingRan: z.boolean().openapi({ description: "It succeeded, but no stage had a script." }),
    })
    .nullable()
    .openapi({ description: "The newest deploy." }),
});

const homeShape = z
  .object({
    me: meShape.openapi({
      description: "The caller, so that the first page of the console needs one request.",
    }),
    mayAddProject: z.boolean().openapi({ description: "The caller is an admin or manages a group." }),
    projectCount: count.openapi({ description: "Projects that the caller may view, whatever the filter." }),
    groups: z.array(z.object({ id, name: z.string() })),
    needs: z.array(needShape).openapi({
      description: "What a person should look at, the most urgent first; at most 20 of each kind.",
    }),
    projects: z.object({ items: z.array(rowShape), total: count, page: count, pageSize: count }),
  })
  .openapi("Home");

const getHome = route("get", "/home", {
  summary: "What needs a person, and the projects",
  description:
    "The first page of the console. `needs` are those of all projects that the caller may view, whatever the filter; runners are for admins only. Of the projects, those whose last run failed are first, then those with unfinished tasks.",
  access: "signed-in",
  query: {
    ...pageQuery,
    pageSize: z.coerce
      .number()
      .int()
      .min(pageSizes.minimum)
      .max(pageSizes.maximum)
      .default(pageSizes.default)
      .openapi({ type: "integer", ...pageSizes }),
    groupId: queryId.optional(),
    search: text(100).optional().openapi({ description: "Part of the name." }),
  },
  ok: json("Home.", homeShape),
});

export function homeApi({ store }: ApiDeps) {
  const { overview, groups } = store;

  /** All that the rows of one page need, in a fixed number of queries. */
  async function rowsOf(items: OverviewProject[], permissionOn: (id: number) => Permission) {
    const environments = await store.projects.environmentsOf(items.map(({ project }) => project.id));
    const places = [...items.map(({ project }) => project), ...environments];
    const ids = places.map(({ id }) => id);
    const liveIds = places.flatMap(({ liveTaskId }) => liveTaskId ?? []);
    const [runs, held, services] = await Promise.all([
      overview.runs(ids, 1),
      overview.held(ids),
      store.services.ofProjects(ids),
    ]);
    const found = await overview.serving([...new Set([...liveIds, ...runs.map((run) => run.id)])]);
    const taskOf = new Map(found.map((each) => [each.task.id, each]));
    const now = store.now();
    const queued = found.map(({ task }) => task).filter(({ state }) => state === "queued");
    const waitOf = await waitsOf(store, [...held, ...queued], now);
    return items.map(({ project, isBroken }) => {
      const { id: projectId, name, sample, liveNote, liveTaskId, git, groupId } = project;
      const own = environments.filter(({ parentId }) => parentId === projectId);
      const isOwn = (each: { projectId: number }) =>
        each.projectId === projectId || own.some((place) => place.id === each.projectId);
      const run = runs.filter(isOwn).toSorted((a, b) => b.id - a.id)[0];
      const last = run && taskOf.get(run.id)?.task;
      const current = held.find(isOwn) ?? (last?.state === "queued" ? last : undefined);
      return {
        ...{ projectId, name, sample, groupId, isBroken, ref: git.ref, permission: permissionOn(projectId) },
        publicUrl: project.publicUrl || firstRouteUrl(ownPipeline(project)),
        services: serviceSummary(services.filter(isOwn), now),
        environments: own.map((place) => ({
          name: place.environment?.name ?? "",
          projectId: place.id,
          services: serviceSummary(
            services.filter((service) => service.projectId === place.id),
            now,
          ),
          live: place.liveTaskId === null ? null : liveJson(taskOf.get(place.liveTaskId)),
        })),
        live: liveTaskId === null ? null : liveJson(taskOf.get(liveTaskId)),
        ...reasonJson({ liveNote }),
        current: currentJson(current, waitOf),
        last: last
          ? {
              ...briefJson(last),
              state: last.state,
              at: (last.finishedAt ?? last.createdAt).toISOString(),
              nothingRan: run?.nothingRan === true,
            }
          : null,
      };
    });
  }

  return newApi().openapi(getHome, async (c) => {
    const { page, pageSize, groupId, search } = c.req.valid("query");
    const { permissions } = c.var;
    const caller = callerOf(c);
    const visibleProjectIds = await permissions.visibleProjectIds(caller);
    const visibleGroups = await permissions.visibleGroupIds(caller);
    const permissionOn = await permissions.permissionsOn("project", caller);
    const filter = onlyGiven({ visibleProjectIds, groupId, search });
    const found = await overview.projects(filter, { page, pageSize });
    const [rows, needs, named] = await Promise.all([
      rowsOf(found.items, permissionOn),
      needsFor(c, store, found),
      groups.list(onlyGiven({ ids: visibleGroups }), { page: 1, pageSize: maxGroups }),
    ]);
    return c.json(
      {
        me: await meJson(c, store.users),
        mayAddProject: await permissions.mayAddProject(caller),
        projectCount: found.counts.projects,
        groups: named.items.map((group) => ({ id: group.id, name: group.name })),
        needs,
        projects: { items: rows, total: found.total, page: found.page, pageSize: found.pageSize },
      },
      200,
    );
  });
}
