import { isChecked } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import { hostLinksOf } from "../../task/host-links.ts";
import { moveTargetsOf } from "../../task/move-targets.ts";
import { changedSettings } from "../../task/release/changed-settings.ts";
import { consideredReleases, liveReleaseId } from "../../task/release/earlier-releases.ts";
import { isUsable, nextRelease } from "../../task/release/rollback-order.ts";
import { takenBackBy } from "../../task/release/task-changes.ts";
import { withGroupVariables } from "../../task/view/inherited-values.ts";
import { taskJson } from "../../task/view/task-json.ts";
import { auditEntry, projectChange, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id, time } from "./scalars.ts";
import { json, jsonOf, strict, z } from "./shape.ts";
import { taskShape } from "./task-shape.ts";

const route = routesOf("releases");
const maxReleases = 50;

const releaseShape = z
  .object({
    taskId: id.openapi({ description: "The task that built it." }),
    ref: z.string(),
    commit: z.string(),
    message: z.string(),
    runnerId: id,
    isLive: z
      .boolean()
      .openapi({ description: "It was deployed last, and nothing has shown that it failed." }),
    isChecked: z.boolean().openapi({
      description: "It has services or a health check. Otherwise nothing shows whether it serves.",
    }),
    isNext: z.boolean().openapi({ description: "A rollback without `taskId` takes it." }),
    isKept: z.boolean().openapi({
      description: "Its workspace is on the project's runner: it can serve again without a build.",
    }),
    bytes: z.number().int().nullable().openapi({ description: "Disk use of its workspace." }),
    images: z.record(z.string(), z.string()).openapi({
      description: "The ids of the images that its services in containers run, by service.",
      example: { web: "sha256:5f2c…" },
    }),
    digest: z.string().nullable().openapi({
      description:
        "SHA-256 of its files (paths, modes, links, contents), recorded when it was sealed: the same in each environment and on each runner that serves it. Null: it was not sealed, or by a version that recorded none.",
    }),
    promotedFrom: id.nullable().openapi({
      description: "The task of another environment that built it; null: its own task did.",
    }),
    deployedAt: time.meta({ description: "When it last began to serve." }),
    endedAt: time.nullable().openapi({
      description:
        "When its service was seen to exit by itself, within a minute of its start; null: not since it last began to serve. A rollback without `taskId` does not choose it.",
    }),
  })
  .openapi("Release");
const releaseList = z
  .object({
    items: z.array(releaseShape),
    homeRunner: z.object({ id, name: z.string() }).nullable().openapi({
      description: "The runner that gets the tasks of the project; null: none yet, or it was deleted.",
    }),
    moveTargets: z.array(z.object({ id, name: z.string() })).openapi({
      description: "Other connected runners that may take tasks of the project, and can fetch its release.",
    }),
    data: z.array(z.string()).openapi({
      description: "The data folders of the release that serves.",
    }),
  })
  .openapi("ReleaseList");
export type ReleaseAnswer = z.infer<typeof releaseShape>;

const listReleases = route("get", "/projects/{id}/releases", {
  summary: "Releases of a project",
  description: `The last ${maxReleases} that have served, the one that was first deployed last first. A rollback changes no order.`,
  access: { project: "view" },
  ok: json("The releases.", releaseList),
});

export const changedSetting = z
  .object({
    setting: z.string().openapi({ example: "env.PORT" }),
    release: z.string().nullable().openapi({ description: "With the release; null: not set." }),
    project: z.string().nullable().openapi({ description: "In the project; null: not set." }),
  })
  .openapi("ChangedSetting");
export type ChangedSetting = z.infer<typeof changedSetting>;

const returning = z
  .object({
    release: releaseShape
      .pick({ ref: true, commit: true, message: true, deployedAt: true })
      .nullable()
      .openapi({ description: "Null: the task has no release." }),
    compare: z.string().nullable().openapi({
      description:
        "The page of the Git host with the changes between the release and what serves, which a rollback takes back. Null: there is none.",
    }),
    takenBack: z
      .array(z.object({ taskId: id, ref: z.string(), commit: z.string().nullable(), message: z.string() }))
      .openapi({
        description:
          "Newest first: the pushes of the same ref after the release, up to what serves, one for each commit. A rollback takes them back.",
      }),
    items: z.array(changedSetting).openapi({ description: "What differs." }),
  })
  .openapi("ChangedSettings");

const listSettings = route("get", "/projects/{id}/releases/{taskId}/settings", {
  summary: "What returns with a release",
  description:
    "The commit, and the variables and the settings of stages that a rollback to the release of `taskId` uses, as far as they differ from those of the project. " +
    "Empty for a task without a release: its commit is built with the settings of the project.",
  access: { project: "view" },
  ok: json("The release, and what differs.", returning),
});

const rollBack = route("post", "/projects/{id}/rollback", {
  ofEnvironments: true,
  summary: "Bring an earlier release back",
  description:
    "Runs deploy and start of the release of `taskId` again, with its scripts and environment and the secrets of today; without `taskId`, " +
    "of the release that the live one replaced when it was first deployed, whatever rollbacks happened since. Releases that ended by " +
    "themselves, and those of the same commit with the same settings, are skipped. A kept release needs no build; an older one is built again.",
  access: { project: "manage" },
  body: strict({ taskId: id.nullable().optional() }),
  created: json("The new task.", taskShape),
});

const moveProject = route("post", "/projects/{id}/move", {
  ofEnvironments: true,
  summary: "Move a project to another runner",
  description:
    "A project stays with the runner that holds its releases. A move is a task of `runnerId`: it fetches the release that serves, runs what a " +
    "rollback runs, and starts and checks the services. When it has succeeded, `runnerId` takes the tasks of the project, and the services on " +
    "the earlier runner end. If it fails, nothing has changed. With data folders, `data` must say whether they are moved too: then the services " +
    "stop first. Without a release that serves and that a connected runner keeps, and with `runnerId` null (any runner), only the runner of the " +
    "next tasks changes, which build; `task` is null then.",
  access: { project: "manage" },
  body: strict({ runnerId: id.nullable(), data: z.enum(["with", "without"]).optional() }),
  faults: {
    409: "It has data folders and `data` is missing, a task of it is unfinished, or a runner cannot do it.",
    503: "The runner is not connected.",
  },
  ok: json(
    "Where it is now, and the task that moves it.",
    z.object({ homeRunnerId: id.nullable(), task: taskShape.nullable() }),
  ),
});

export function releasesApi({ store, manualTasks }: ApiDeps) {
  const writtenAll = (releases: Release[], project: Project, liveId: number | null) => {
    const next = nextRelease(releases, liveId);
    return releases.slice(0, maxReleases).map((release) => {
      const flags = { isLive: release.taskId === liveId, isNext: release === next };
      const ofRelease = { isChecked: isChecked(release.pipeline), isKept: isUsable(release, project) };
      return jsonOf(releaseShape, { ...release, ...flags, ...ofRelease });
    });
  };
  /** What was done after the release, up to what serves. */
  const compareOf = async (project: Project, release: Release): Promise<string | null> => {
    const live = project.liveTaskId === null ? null : await store.tasks.byId(project.liveTaskId);
    const config = await store.webhookConfigs.ofProject(project.id);
    const links = hostLinksOf(
      { ref: release.ref, commit: live?.commit ?? null, source: null },
      { cloneUrl: project.git.url, provider: config?.provider ?? "generic", serving: release.commit },
    );
    return links?.compare ?? null;
  };
  return newApi()
    .openapi(listReleases, async (c) => {
      const project = projectOf(c);
      const liveId = await liveReleaseId(store, project);
      const releases = await store.releases.ofProject(project.id, consideredReleases);
      const home = project.homeRunnerId === null ? null : await store.runners.byId(project.homeRunnerId);
      const homeRunner = home && { id: home.id, name: home.name };
      const items = writtenAll(releases, project, liveId);
      const moveTargets = await moveTargetsOf(store, project);
      const data = releases.find(({ taskId }) => taskId === liveId)?.pipeline.data ?? [];
      return c.json({ items, homeRunner, moveTargets, data }, 200);
    })
    .openapi(listSettings, async (c) => {
      const project = projectOf(c);
      const release = await store.releases.ofTask(c.req.valid("param").taskId);
      if (release?.projectId !== project.id)
        return c.json({ release: null, compare: null, takenBack: [], items: [] }, 200);
      const live = project.liveTaskId === null ? null : await store.tasks.byId(project.liveTaskId);
      const left = live === null ? [] : await takenBackBy(store, release, live);
      const takenBack = left.map((task) => ({ ...task, taskId: task.id }));
      const stages = stageNames.filter((name) => name !== "build" || !isUsable(release, project));
      const items = changedSettings(release, await withGroupVariables(store, project), stages);
      const compare = await compareOf(project, release);
      return c.json(jsonOf(returning, { release, compare, takenBack, items }), 200);
    })
    .openapi(rollBack, async (c) => {
      const { taskId = null } = c.req.valid("json");
      const entry = auditEntry(c, { action: "task.rollback", subject: "" });
      const task = await manualTasks.rollback(projectOf(c), taskId, entry);
      return c.json(taskJson(task), 201);
    })
    .openapi(moveProject, async (c) => {
      const project = projectOf(c);
      const { runnerId, data = null } = c.req.valid("json");
      const entry = auditEntry(c, projectChange("project.move", project));
      const task = await manualTasks.move(project, { runnerId, data }, entry);
      const homeRunnerId = task === null ? runnerId : project.homeRunnerId;
      return c.json({ homeRunnerId, task: task && taskJson(task) }, 200);
    });
}
