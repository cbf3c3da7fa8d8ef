import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import { existing } from "../../revision.ts";
import { taskJson } from "../../task/queue/task-json.ts";
import { changedSettings } from "../../task/release/changed-settings.ts";
import { consideredReleases, liveReleaseId } from "../../task/release/earlier-releases.ts";
import { isUsable, nextRelease } from "../../task/release/rollback-order.ts";
import { auditEntry, audited, projectChange, projectOf } from "./context.ts";
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
    isLive: z.boolean(),
    isNext: z.boolean().openapi({ description: "A rollback without `taskId` takes it." }),
    isKept: z.boolean().openapi({
      description: "Its workspace is on the project's runner: it can serve again without a build.",
    }),
    bytes: z.number().int().nullable().openapi({ description: "Disk use of its workspace." }),
    images: z.record(z.string(), z.string()).openapi({
      description: "The ids of the images that its services in containers run, by service.",
      example: { web: "sha256:5f2c…" },
    }),
    deployedAt: time.openapi({ description: "When it last began to serve." }),
    endedAt: time.nullable().openapi({
      description:
        "When its service was seen to exit by itself, within a minute of its start; null: not since it last began to serve. A rollback without `taskId` does not choose it.",
    }),
  })
  .openapi("Release");
export type ReleaseAnswer = z.infer<typeof releaseShape>;

const listReleases = route("get", "/projects/{id}/releases", {
  summary: "Releases of a project",
  description: `The last ${maxReleases} that have served, the one that was first deployed last first. A rollback changes no order.`,
  access: { project: "view" },
  ok: json("The releases.", z.object({ items: z.array(releaseShape) }).openapi("ReleaseList")),
});

const changedSetting = z
  .object({
    setting: z.string().openapi({ example: "env.PORT" }),
    release: z.string().nullable().openapi({ description: "With the release; null: not set." }),
    project: z.string().nullable().openapi({ description: "In the project; null: not set." }),
  })
  .openapi("ChangedSetting");
export type ChangedSetting = z.infer<typeof changedSetting>;

const listSettings = route("get", "/projects/{id}/releases/{taskId}/settings", {
  summary: "Settings that return with a release",
  description:
    "The variables and the settings of stages that a rollback to the release of `taskId` uses, as far as they differ from those of the project. " +
    "Empty for a task without a release: its commit is built with the settings of the project.",
  access: { project: "view" },
  ok: json("What differs.", z.object({ items: z.array(changedSetting) }).openapi("ChangedSettings")),
});

const rollBack = route("post", "/projects/{id}/rollback", {
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
  summary: "Move a project to another runner",
  description:
    "A project stays with the runner that holds its releases. After a move, `runnerId` takes its tasks, or, with null, any runner. What the " +
    "earlier runner has started is not stopped there, and its kept releases need a build elsewhere.",
  access: { project: "manage" },
  body: strict({ runnerId: id.nullable() }),
  ok: json("Where it is now.", z.object({ homeRunnerId: id.nullable() })),
});

export function releasesApi({ store, manualTasks }: ApiDeps) {
  const writtenAll = (releases: Release[], project: Project, liveId: number | null) => {
    const next = nextRelease(releases, liveId);
    return releases.slice(0, maxReleases).map((release) => {
      const flags = { isLive: release.taskId === liveId, isNext: release === next };
      return jsonOf(releaseShape, { ...release, ...flags, isKept: isUsable(release, project) });
    });
  };
  return newApi()
    .openapi(listReleases, async (c) => {
      const project = projectOf(c);
      const liveId = await liveReleaseId(store, project);
      const releases = await store.releases.ofProject(project.id, consideredReleases);
      return c.json({ items: writtenAll(releases, project, liveId) }, 200);
    })
    .openapi(listSettings, async (c) => {
      const project = projectOf(c);
      const release = await store.releases.ofTask(c.req.valid("param").taskId);
      if (release?.projectId !== project.id) return c.json({ items: [] }, 200);
      const stages = stageNames.filter((name) => name !== "build" || !isUsable(release, project));
      return c.json({ items: changedSettings(release, project, stages) }, 200);
    })
    .openapi(rollBack, async (c) => {
      const { taskId = null } = c.req.valid("json");
      const entry = auditEntry(c, { action: "task.rollback", subject: "" });
      const task = await manualTasks.rollback(projectOf(c), taskId, entry);
      return c.json(taskJson(task), 201);
    })
    .openapi(moveProject, async (c) => {
      const project = projectOf(c);
      const { runnerId } = c.req.valid("json");
      if (runnerId !== null) existing(await store.runners.byId(runnerId), "runner", runnerId);
      const detail = { from: project.homeRunnerId, to: runnerId };
      const change = audited(c, projectChange("project.move", project, detail));
      await change.projects.setLive(project.id, { homeRunnerId: runnerId });
      return c.json({ homeRunnerId: runnerId }, 200);
    });
}
