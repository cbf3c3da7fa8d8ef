import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import type { NewAuditEntry } from "../../model/audit.ts";
import { gitRef } from "../../model/git/git-ref.ts";
import type { Permission } from "../../model/permission.ts";
import type { Project } from "../../model/project.ts";
import { actionsBody } from "../../model/stage/actions.ts";
import { isFinished, type Task } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { approversOf } from "../../task/approval/approvers.ts";
import { hostLinksOf } from "../../task/host-links.ts";
import { changesOf } from "../../task/release/task-changes.ts";
import { logLineJson, type TaskJson, taskJson } from "../../task/view/task-json.ts";
import { answerBody, approversJson } from "./approval-shape.ts";
import { type ApiContext, auditEntry, callerOf, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { placeOfRun } from "./environment-places.ts";
import { found, newApi, routesOf } from "./route.ts";
import { queryId, queryTime, text } from "./scalars.ts";
import { beginServiceAction } from "./services.ts";
import { json, onlyGiven, pageQuery, strict, z } from "./shape.ts";
import { changesJson, getChanges } from "./task-changes.ts";
import { logShape, taskList, taskShape, taskState, wholeCommit } from "./task-shape.ts";
import { listedTasks, writtenTasks } from "./written-tasks.ts";

const route = routesOf("tasks");
const logPage = { usual: 1000, max: 5000 };

const runTask = route("post", "/projects/{id}/tasks", {
  ofEnvironments: true,
  summary: "Run a task by hand",
  description:
    "The tip of `ref` (the project's own unless given), or a `commit` of it: any earlier one, which is how it is deployed again.",
  access: { project: "manage" },
  body: strict({
    ref: gitRef.nullable().optional(),
    commit: wholeCommit.nullable().optional(),
    actions: actionsBody.nullable().optional(),
    environment: text(32).optional().openapi({
      description:
        "Where it is deployed, for a project with environments: needed, unless one of them takes `ref`.",
    }),
  }),
  created: json("The new task.", taskShape),
});

const listTasks = route("get", "/tasks", {
  summary: "List tasks",
  description: "Newest first; those of projects that the caller may view.",
  access: "signed-in",
  query: {
    ...pageQuery,
    projectId: queryId.optional(),
    groupId: queryId.optional(),
    state: taskState.optional(),
    ref: text(255).optional().openapi({ description: "The full ref, exact.", example: "refs/heads/main" }),
    author: text(255).optional().openapi({ description: "The author of the commit, exact." }),
    trigger: z.enum(["webhook", "manual"]).optional(),
    from: queryTime.optional().openapi({ description: "Created at this time or later." }),
    to: queryTime.optional().openapi({ description: "Created before this time." }),
  },
  ok: json("One page of tasks.", taskList),
});

const getTask = route("get", "/tasks/{id}", {
  summary: "One task",
  access: "signed-in",
  ok: json("The task.", taskShape),
});

const getLog = route("get", "/tasks/{id}/log", {
  summary: "Lines of a task's log",
  description: "By index, from `from`. Follow a running task by calling again with `next`.",
  access: "signed-in",
  query: {
    from: z.coerce.number().int().min(0).default(0).openapi({ type: "integer" }),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(logPage.max)
      .default(logPage.usual)
      .openapi({ type: "integer", description: `At most ${logPage.max}.` }),
  },
  ok: json("The lines.", logShape),
});

const getOutput = route("get", "/tasks/{id}/output", {
  summary: "First minute of output of the service that a task started",
  access: "signed-in",
  ok: json(
    "The output; empty if the task started no service.",
    z.object({ output: z.string(), hasExited: z.boolean() }).openapi("ServiceOutput"),
  ),
});

const cancelTask = route("post", "/tasks/{id}/cancel", {
  summary: "Cancel a task",
  description:
    "A queued one is canceled at once; a running one is `canceling` until its processes have ended.",
  access: "signed-in",
  ok: json("The task as it is now.", taskShape),
});

const rerunTask = route("post", "/tasks/{id}/rerun", {
  summary: "Run a task again",
  description: "The same ref, commit and stages as a new task; or the same action with services.",
  access: "signed-in",
  created: json("The new task.", taskShape),
});

const approveTask = route("post", "/tasks/{id}/approve", {
  summary: "Approve a deploy",
  description:
    "A task that is `waiting` is queued. Its deploy and start run in the workspace of its build, with what was pinned for it: name, pipeline with host steps, environment, image, isolation and limits. With `notByPusher` the people in `excluded` of its approval may not; if `needsReason`, an administrator may, with a reason in `comment`. If that workspace is lost, it is built again and becomes `waiting` again.",
  access: "signed-in",
  faults: { 409: "It does not wait, has expired, or a newer commit was deployed." },
  body: answerBody,
  ok: json("The task as it is now.", taskShape),
});

const rejectTask = route("post", "/tasks/{id}/reject", {
  summary: "Reject a deploy",
  description: "A task that is `waiting` is canceled.",
  access: "signed-in",
  faults: { 409: "It does not wait." },
  body: answerBody,
  ok: json("The task as it is now.", taskShape),
});

export function tasksApi(deps: ApiDeps) {
  const { store, manualTasks, approvals, taskRetentionDays } = deps;
  const { tasks } = store;
  async function written(task: Task): Promise<TaskJson> {
    const [one] = await writtenTasks(store, [task]);
    return one ?? taskJson(task);
  }

  async function linksOf(task: Task, { id, git, liveTaskId }: Project) {
    const live = liveTaskId === null ? null : await tasks.byId(liveTaskId);
    const config = await store.webhookConfigs.ofProject(id);
    return hostLinksOf(task, {
      cloneUrl: git.url,
      provider: config?.provider ?? "generic",
      serving: live?.commit ?? null,
    });
  }

  async function authorized(
    c: ApiContext,
    id: number,
    permission: Permission,
  ): Promise<{ task: Task; project: Project }> {
    // A task that is not there and one of an invisible project look the same.
    const missing =
      taskRetentionDays > 0
        ? newReason("none_visible_kept", { noun: newReason("noun_task"), id, days: taskRetentionDays })
        : newReason("none_visible", { noun: newReason("noun_task"), id });
    const task = found(await tasks.byId(id), missing);
    const project = await c.var.permissions
      .authorizeProject(callerOf(c), permission, task.projectId)
      .catch((fault: unknown) => {
        if (fault instanceof Fault && fault.code === "not_found") return found<Project>(null, missing);
        throw fault;
      });
    return { task, project };
  }

  /** The entry that is stored with the change of a task, which completes it. */
  function noted(c: ApiContext, action: string): NewAuditEntry {
    return auditEntry(c, { action, subject: "" });
  }

  async function answered(c: ApiContext, task: Task, isApproved: boolean, comment: string) {
    const isAdmin = actsAsAdmin(callerOf(c));
    const audited = noted(c, isApproved ? "task.approve" : "task.reject");
    return written(await approvals.answer({ id: task.id, isApproved, isAdmin, comment, audited }));
  }

  return newApi()
    .openapi(runTask, async (c) => {
      const { ref = null, commit = null, actions, environment } = c.req.valid("json");
      const asked = { ref, commit, actions: actions ?? null };
      const place = await placeOfRun(store, projectOf(c), ref, environment);
      const task = await manualTasks.run(place, asked, noted(c, "task.run"));
      return c.json(await written(task), 201);
    })
    .openapi(listTasks, async (c) => {
      const { page, pageSize, ...filter } = c.req.valid("query");
      const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
      const list = await tasks.list(onlyGiven({ ...filter, visibleProjectIds }), { page, pageSize });
      const items = await listedTasks(store, list.items);
      return c.json({ ...list, items }, 200);
    })
    .openapi(getTask, async (c) => {
      const { task, project } = await authorized(c, c.req.valid("param").id, "view");
      const [listed] = await listedTasks(store, [task]);
      const shown = { ...(listed ?? taskJson(task)), links: await linksOf(task, project) };
      if (task.state !== "waiting" || task.approval === null || shown.approval === null)
        return c.json(shown, 200);
      const approvers = await approversOf(store, { ...task, approval: task.approval }, project);
      return c.json({ ...shown, approval: { ...shown.approval, ...approversJson(approvers) } }, 200);
    })
    .openapi(getChanges, async (c) => {
      const { task, project } = await authorized(c, c.req.valid("param").id, "view");
      return c.json(changesJson(await changesOf(store, task, project), await linksOf(task, project)), 200);
    })
    .openapi(getLog, async (c) => {
      const { task } = await authorized(c, c.req.valid("param").id, "view");
      const { from, limit } = c.req.valid("query");
      const lines = await tasks.log(task.id, from, limit);
      const next = from + lines.length;
      const done = isFinished(task.state) && next >= (await tasks.nextLogIndex(task.id));
      return c.json({ lines: lines.map(logLineJson), next, done }, 200);
    })
    .openapi(getOutput, async (c) => {
      const { task } = await authorized(c, c.req.valid("param").id, "view");
      return c.json((await store.releases.output(task.id)) ?? { output: "", hasExited: false }, 200);
    })
    .openapi(cancelTask, async (c) => {
      const { task } = await authorized(c, c.req.valid("param").id, "manage");
      const canceled = await manualTasks.cancel(task, noted(c, "task.cancel"));
      return c.json(await written(canceled), 200);
    })
    .openapi(approveTask, async (c) => {
      const { task } = await authorized(c, c.req.valid("param").id, "manage");
      return c.json(await answered(c, task, true, c.req.valid("json").comment), 200);
    })
    .openapi(rejectTask, async (c) => {
      const { task } = await authorized(c, c.req.valid("param").id, "manage");
      return c.json(await answered(c, task, false, c.req.valid("json").comment), 200);
    })
    .openapi(rerunTask, async (c) => {
      const { task, project } = await authorized(c, c.req.valid("param").id, "manage");
      if (task.move !== null || task.serviceAction?.type === "leave")
        throw new Fault("conflict", newReason("move_again", { project: project.name }));
      const again =
        task.serviceAction === null
          ? await manualTasks.rerun(task, project, noted(c, "task.rerun"))
          : await beginServiceAction(c, deps, project, task.serviceAction);
      return c.json(await written(again), 201);
    });
}
