import { atRollback, type Pipeline, runOf } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { isSideEffect, type StageName, stageNames } from "../../model/stage/stage-name.ts";
import type { Keepers } from "../../model/store.ts";
import { releaseIdOf, type Task } from "../../model/task.ts";
import type { KeptRelease, RunTask, WireService, WireStage } from "../../runner/protocol.ts";
import { changedSettings } from "./changed-settings.ts";
import { consideredReleases, earlierReleases, liveReleaseId, workingReleases } from "./earlier-releases.ts";
import { neededRelease } from "./needed-release.ts";

/** How a task runs: its scripts and environment, and the data about releases that the runner needs. */
export type ReleaseInstruction = Pick<RunTask, "stages" | "services" | "folders" | "env" | "release">;

export interface ReleaseParts {
  keepers: Pick<Keepers, "releases" | "tasks" | "runners">;
  /** The plain environment of a task that is built from the project's current settings. */
  env: Record<string, string>;
  now: Date;
  /** Which step of a deploy that needs an approval is run; null: both. */
  step: "build" | "deploy" | null;
  stageOf(pipeline: Pipeline, name: StageName): WireStage;
  servicesOf(pipeline: Pipeline): WireService[];
}

/** Stores the release that the task creates, so that it can be started again with the same scripts and environment. */
export async function releaseInstruction(
  task: Task,
  project: Project,
  parts: ReleaseParts,
): Promise<ReleaseInstruction | null> {
  const { releases } = parts.keepers;
  const source = await neededRelease(parts.keepers, task);
  if (task.deploys !== null && source === null) return null;
  const isOwn = source?.projectId === project.id;
  const promoted = isOwn ? null : source;
  const built = source && (await builtRelease(releases, source));
  const back = isOwn ? source : task.rollbackTo === null ? null : await releases.ofTask(task.rollbackTo);
  const pipeline = (back ?? source)?.pipeline ?? project.pipeline;
  const run = back ? atRollback(pipeline) : pipeline;
  const env = back ? { ...back.env, ...(isOwn ? {} : { CI_ROLLBACK: "true" }) } : parts.env;
  const pending = task.stages.filter(({ state }) => state !== "skipped").map(({ name }) => name);
  const from = back?.state === "kept" && (isOwn || back.runnerId === task.runnerId) ? back : null;
  const names = stageNames.filter((name) => isInStep(name) && (pending.includes(name) || isBuiltAgain(name)));
  /** A runner that does not have the kept workspace any more builds it. */
  function isBuiltAgain(name: StageName): boolean {
    return name === "build" && back !== null && source === null && runOf(pipeline, "build").length > 0;
  }
  function isInStep(name: StageName): boolean {
    return parts.step === null || (parts.step === "build") !== isSideEffect(name);
  }
  const deploys = names.some(isSideEffect);
  const canDeploy = stageNames.some((name) => isSideEffect(name) && runOf(pipeline, name).length > 0);
  if (deploys && !from && task.runnerId !== null)
    await releases.put({
      taskId: task.id,
      projectId: project.id,
      attempt: task.approval?.built?.attempt ?? task.attempt,
      runnerId: task.runnerId,
      state: "candidate",
      ref: task.ref,
      commit: task.commit ?? "",
      message: task.message,
      author: task.author,
      promotedFrom: promoted?.taskId ?? null,
      pipeline: pinned(pipeline, project.image, pending),
      env,
      digest: source?.digest ?? null,
      bytes: null,
      place: 0,
      replacedPlace: 0,
      deployedAt: parts.now,
      endedAt: null,
      rolledBackAt: null,
      images: {},
    });
  const before = deploys ? await releaseBefore(task, project, from, parts) : { previous: null };
  return {
    stages: names.map((name) => parts.stageOf(run, name)),
    services: isInStep("start") && task.actions?.start !== false ? parts.servicesOf(run) : null,
    folders: { data: pipeline.data, scratch: pipeline.scratch, sealed: pipeline.sealed },
    env,
    release: {
      isKept: deploys || !canDeploy,
      from: from && wireRelease(from),
      ...(built === null || built.projectId === project.id
        ? {}
        : { promotes: { ...wireRelease(built), projectId: built.projectId } }),
      ...(source === null ? {} : { fetch: await fetchOf(task, source, parts.keepers) }),
      ...(back === null ? {} : { settings: settingsLine(back, project, names) }),
      ...before,
    },
  };
}

/** The release whose build has made the files; if it is not known any more, the earliest that was promoted with them. */
async function builtRelease(releases: Keepers["releases"], release: Release): Promise<Release> {
  const earlier = release.promotedFrom === null ? null : await releases.ofTask(release.promotedFrom);
  return earlier === null ? release : builtRelease(releases, earlier);
}

async function fetchOf(
  { move, deploys }: Task,
  { projectId, taskId, attempt, runnerId, digest, pipeline }: Release,
  { runners }: Pick<Keepers, "runners">,
): Promise<RunTask["release"]["fetch"]> {
  return {
    source: { projectId, taskId, attempt },
    holder: (await runners.byId(runnerId))?.name ?? String(runnerId),
    // What deploy and start can write to changes.
    digest: pipeline.sealed ? (deploys?.digest ?? digest) : null,
    withData: move?.withData === true,
  };
}

/** An action is done with the release that serves, as it was started. Null: it does not serve there any more. */
export async function actionInstruction(
  { projectId, runnerId, serviceAction }: Task,
  { keepers, servicesOf }: Pick<ReleaseParts, "keepers" | "servicesOf">,
): Promise<ReleaseInstruction | null> {
  const release = await keepers.releases.servedLast(projectId);
  // What is left behind is not what serves.
  if (release === null || (serviceAction?.type !== "leave" && release.runnerId !== runnerId)) return null;
  const { data, scratch, sealed } = release.pipeline;
  return {
    stages: [],
    services: servicesOf(release.pipeline),
    folders: { data, scratch, sealed },
    env: release.env,
    release: { isKept: true, from: wireRelease(release), previous: null },
  };
}

/** The pipeline that the task was handed out with, as far as it is stored: the project's may have been changed since. */
export async function handedOutPipeline(
  { releases }: Pick<Keepers, "releases">,
  task: Task,
  project: Project,
): Promise<Pipeline> {
  const { id, approval, pipeline } = task;
  const backId = releaseIdOf(task);
  const release = (await releases.ofTask(id)) ?? (backId === null ? null : await releases.ofTask(backId));
  return release?.pipeline ?? pipeline ?? approval?.pinned.pipeline ?? project.pipeline;
}

/** The release to restore if this task fails: the live one, or the one on this runner that a rollback would go to. */
async function releaseBefore(
  task: Task,
  project: Project,
  from: Release | null,
  { keepers, stageOf, servicesOf }: ReleaseParts,
): Promise<Pick<RunTask["release"], "previous">> {
  // If a move fails, the earlier runner goes on.
  if (project.rollback !== "automatic" || task.move !== null) return { previous: null };
  const releases = await keepers.releases.ofProject(project.id, consideredReleases);
  const liveId = await liveReleaseId(keepers, project);
  const live = releases.filter(({ taskId }) => taskId === liveId);
  const [previous] = workingReleases([...live, ...earlierReleases(releases, liveId)]).filter(
    ({ state, runnerId, taskId }) =>
      state === "kept" && runnerId === task.runnerId && taskId !== from?.taskId,
  );
  if (!previous || (liveId !== null && previous.taskId !== liveId)) return { previous: null };
  const run = atRollback(previous.pipeline);
  const names = stageNames.filter((name) => isSideEffect(name) && runOf(run, name).length > 0);
  return {
    previous: {
      ...wireRelease(previous),
      stages: names.map((name) => stageOf(run, name)),
      services: servicesOf(run),
      env: previous.env,
      settings: settingsLine(previous, project, names),
    },
  };
}

function settingsLine(release: Release, project: Project, stages: StageName[]): string {
  const changed = changedSettings(release, project, stages).map(({ setting }) =>
    setting.replace(/^(env|stages|pipeline)\./, ""),
  );
  const now =
    changed.length === 0 ? "the project has the same" : `the project has other ${changed.join(", ")}`;
  return `variables, scripts and checks of task ${release.taskId} (now ${now}), current secrets`.slice(
    0,
    2000,
  );
}

function wireRelease({ taskId, attempt, ref, commit, message, author }: Release): KeptRelease {
  return { taskId, attempt, ref, commit, message, author };
}

/** The steps as they ran: with today's image, and without those of stages that the task left out. */
function pinned(pipeline: Pipeline, image: string, pending: StageName[]): Pipeline {
  const pin = <R extends { image: string }>(run: R): R => ({ ...run, image: run.image || image });
  const { build, deploy, start } = pipeline;
  return {
    ...pipeline,
    build: build.map(pin),
    deploy: pending.includes("deploy") ? deploy.map(pin) : [],
    start: !pending.includes("start")
      ? []
      : Array.isArray(start)
        ? start.map(pin)
        : Object.fromEntries(Object.entries(start).map(([name, service]) => [name, pin(service)])),
  };
}
