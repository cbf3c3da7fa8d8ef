import { actsAsAdmin } from "../../account/permissions.ts";
import type { FoundTask, SearchRequest } from "../../model/console/search.ts";
import type { DeliverySummary } from "../../model/delivery.ts";
import { renderReason, sentencesOf } from "../../reason/reason.ts";
import { callerOf } from "./context.ts";
import { statusShape } from "./delivery-shape.ts";
import type { ApiDeps } from "./deps.ts";
import { projectNameOf } from "./project-names.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { id, maxId, ownPermission, text, time } from "./scalars.ts";
import { json, onlyGiven, z } from "./shape.ts";
import { taskState } from "./task-shape.ts";

const route = routesOf("overview");
const limits = { projects: 8, others: 5 };
/** Fewer digits would name too many commits. */
const commitStart = /^[0-9a-f]{4,64}$/i;
const number = /^#?(\d{1,15})$/;

const foundTask = z.object({
  taskId: id,
  projectId: id,
  projectName: z.string(),
  state: taskState,
  ref: z.string(),
  commit: z.string().nullable(),
  message: z.string(),
  author: z.string(),
  at: time,
});

const searchShape = z
  .object({
    projects: z.array(
      z.object({ projectId: id, name: z.string(), ref: z.string(), permission: ownPermission }),
    ),
    branches: z.array(
      z.object({ projectId: id, projectName: z.string(), ref: z.string(), commit: z.string() }),
    ),
    commits: z.array(foundTask),
    tasks: z.array(foundTask),
    deliveries: z.array(
      z.object({
        deliveryId: id,
        projectName: z.string(),
        status: statusShape,
        ref: z.string(),
        commit: z.string(),
        reason: z.string(),
        reasonParts: reasonPartsShape,
        at: time,
      }),
    ),
    users: z.array(z.object({ userId: id, username: z.string() })),
  })
  .openapi("SearchResult");

const getSearch = route("get", "/search", {
  summary: "Search everything",
  description:
    "Projects by name, branches and tags by name, commits by their first digits, tasks by number or by words of message and author (recent ones), deliveries by number, host id, commit or ref, and, for admins, users. Only what the caller may view, a few of each.",
  access: "signed-in",
  query: { q: text(200, 1).openapi({ example: "shop" }) },
  ok: json("What was found.", searchShape),
});

export function searchApi({ store: { search, tasks, deliveries } }: ApiDeps) {
  async function taskByNumber(wanted: number | null, isVisible: (id: number) => boolean) {
    const task = wanted === null ? null : await tasks.byId(wanted);
    return task !== null && isVisible(task.projectId) ? [task] : [];
  }

  async function deliveriesOf({ text: wanted, visibleProjectIds }: SearchRequest) {
    const numbered = numberIn(wanted);
    const one = numbered === null ? null : await deliveries.byId(numbered);
    const isVisible = one !== null && (visibleProjectIds?.includes(one.project_id) ?? true);
    const filter = onlyGiven({ search: wanted, visibleProjectIds });
    const { items } = await deliveries.list(filter, { page: 1, pageSize: limits.others });
    const found = [...(isVisible ? [one] : []), ...items.filter((item) => item.id !== one?.id)];
    return found.slice(0, limits.others).map(deliveryJson);
  }

  return newApi().openapi(getSearch, async (c) => {
    const caller = callerOf(c);
    const wanted = c.req.valid("query").q.trim();
    const visibleProjectIds = await c.var.permissions.visibleProjectIds(caller);
    const permissionOn = await c.var.permissions.permissionsOn("project", caller);
    if (wanted === "") return c.json(nothing, 200);
    const request = { text: wanted, visibleProjectIds, limit: limits.others };
    const visible = visibleProjectIds === undefined ? null : new Set(visibleProjectIds);
    const isVisible = (projectId: number) => visible?.has(projectId) ?? true;
    const [projects, branches, commits, numbered, worded, delivered, users] = await Promise.all([
      search.projects({ ...request, limit: limits.projects }),
      search.branches(request),
      commitStart.test(wanted) ? search.commits(request) : [],
      taskByNumber(numberIn(wanted), isVisible),
      search.tasks(request),
      deliveriesOf(request),
      actsAsAdmin(caller) ? search.users(request) : [],
    ]);
    const listed = [...numbered, ...worded.filter(({ id: taskId }) => taskId !== numbered[0]?.id)];
    const name = await projectNameOf(search, [...branches, ...commits, ...listed]);
    return c.json(
      {
        projects: projects.map(({ id: projectId, name: projectName, git }) => ({
          projectId,
          name: projectName,
          ref: git.ref,
          permission: permissionOn(projectId),
        })),
        branches: branches.map(({ projectId, ref, commit }) => ({
          projectId,
          projectName: name(projectId),
          ref,
          commit,
        })),
        commits: commits.map((task) => taskJson(task, name)),
        tasks: listed.slice(0, limits.others).map((task) => taskJson(task, name)),
        deliveries: delivered,
        users: users.map(({ id: userId, username }) => ({ userId, username })),
      },
      200,
    );
  });
}

const nothing = { projects: [], branches: [], commits: [], tasks: [], deliveries: [], users: [] };

function numberIn(wanted: string): number | null {
  const value = Number(number.exec(wanted)?.[1] ?? 0);
  return value > 0 && value <= maxId ? value : null;
}

function deliveryJson({
  id: deliveryId,
  project_name,
  status,
  ref,
  commit,
  reason,
  created_at,
}: DeliverySummary) {
  return {
    deliveryId,
    projectName: project_name,
    status,
    ref,
    commit,
    reason: renderReason(reason).slice(0, 300),
    reasonParts: sentencesOf(reason),
    at: created_at.toISOString(),
  };
}

function taskJson(task: FoundTask, nameOf: (projectId: number) => string) {
  const [message = ""] = task.message.split("\n");
  return {
    taskId: task.id,
    projectId: task.projectId,
    projectName: nameOf(task.projectId),
    state: task.state,
    ref: task.ref,
    commit: task.commit,
    message: message.slice(0, 200),
    author: task.author,
    at: task.createdAt.toISOString(),
  };
}
