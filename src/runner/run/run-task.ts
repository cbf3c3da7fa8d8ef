import { type Clock, steadyClock } from "../../clock.ts";
import { messageOf, ReasonError, thrownReason } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { mapTexts, newReason, type Reason } from "../../reason/reason.ts";
import type { CheckedOut } from "../checkout/checkout.ts";
import { buildLogStream, type LogStream } from "../log/log-stream.ts";
import { buildMasker } from "../log/masker.ts";
import type { Lifeline, TaskGuard } from "../process/lifeline.ts";
import type { FinishRequest, KeptRelease, RunTask } from "../protocol.ts";
import { type HeldTask, holdTask } from "../server/held-task.ts";
import type { ServerClient } from "../server/server-client.ts";
import type { Services } from "../service/services.ts";
import type { Execution } from "../stage/execution.ts";
import { failed, type StageEnd, stoppedEnd } from "../stage/stage-script.ts";
import type { IncomingData } from "../transfer/fetch-data.ts";
import { openCacheFolders } from "../workspace/cache-folders.ts";
import { diskUseOf } from "../workspace/disk-use.ts";
import type { ProjectDisk } from "../workspace/project-disk.ts";
import { openStageFolders, type StageFoldersOfTask } from "../workspace/stage-folders.ts";
import type { IncomingRelease, Workspace, WorkspaceEnd, Workspaces } from "../workspace/workspace.ts";
import { giveTo, letEnter } from "../workspace/workspace-owner.ts";
import { checkOut } from "./check-out.ts";
import { withPipelineFile } from "./pipeline-file.ts";
import type { Places } from "./places.ts";
import { receiveData, receiveRelease } from "./receive-release.ts";
import { rollBack } from "./rollback.ts";
import { runAction } from "./run-action.ts";
import { isGoing, runStages } from "./run-stages.ts";
import { type SealParts, sealRelease } from "./seal-release.ts";

export interface RunTaskParts {
  client: ServerClient;
  workspaces: Workspaces;
  /** How many releases of a project are kept. */
  releases: number;
  places: Places;
  lifeline: Lifeline;
  execution: Execution;
  /** Largest cache of one project. */
  cacheMaxBytes: number;
  clock: Clock;
  log: Logger;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
  newMark(): string;
  /** Aborted: the runner must end now; the server decides about its tasks. */
  abandon: AbortSignal;
  services: Services;
  disk: ProjectDisk;
}

/**
 * Runs a task, the only instruction of the protocol: checkout, then each stage; each begins only after the server has
 * acknowledged it.
 */
export async function runTask(asked: RunTask, parts: RunTaskParts): Promise<void> {
  let instruction = asked;
  const masker = buildMasker(secretsOf(instruction));
  const guard = parts.lifeline.guard(instruction);
  const held = holdTask(instruction, { client: parts.client, clock: steadyClock, log: parts.log, guard });
  const abandon = () => held.stop("runner_stopped");
  parts.abandon.addEventListener("abort", abandon, { once: true });
  const log = buildLogStream({
    clock: parts.clock,
    from: instruction.logFrom,
    masker,
    maxBytes: instruction.limits.logMaxBytes,
    usedBytes: instruction.limits.logBytesUsed,
    async send(from, lines) {
      return (await held.log({ from, lines }))?.ack ?? null;
    },
  });
  let opened: OpenedWorkspace | null = null;
  let end: StageEnd = { state: "failed", exitCode: null, reason: "" };
  const { action } = instruction;
  try {
    if (action === undefined) opened = await openWorkspace(instruction, parts);
    end =
      action !== undefined
        ? await runAction(action, instruction, { ...parts, held, guard, log })
        : opened === null
          ? {
              state: "failed",
              exitCode: null,
              reason: instruction.release.promotes ? newReason("promoted_gone") : newReason("workspace_gone"),
            }
          : await work(instruction, opened, {
              ...{ ...parts, held, guard, stream: log },
              completed(whole) {
                instruction = whole;
              },
            });
  } catch (error) {
    parts.log.error({ taskId: instruction.taskId, error }, "a task failed in the runner");
    end = {
      state: "failed",
      exitCode: null,
      reason: newReason("runner_failed", { message: thrownReason(error) }),
    };
  } finally {
    held.settle();
    const tried = <T>(failure: string, step: () => T | Promise<T>) => orNull(step, failure, parts.log);
    if (end.reason && end.state !== "canceled")
      await tried("a reason was not logged", () => log.writeLine("system", end.reason));
    // The workspace is removed first: when the result is known, nothing of the task is left.
    await tried("a workspace was not removed", () =>
      closeWorkspace(instruction, opened, end, { ...parts, held }),
    );
    await tried("a log was not sent", log.flushed);
    const kept = await tried("kept releases were not read", () => keptOf(instruction, parts));
    const isWorkspaceLost = opened === null && instruction.approval?.step === "deploy";
    await tried("a result was not sent", () =>
      held.finish({
        state: end.state,
        reason: mapTexts(end.reason, masker.text),
        ...kept,
        ...imagesOf(instruction, parts),
        ...(isWorkspaceLost ? { isWorkspaceLost } : {}),
      }),
    );
    held.close();
    guard.close();
    parts.abandon.removeEventListener("abort", abandon);
  }
}

/** A step at the end of a task. Its failure must not prevent the next ones: the server would wait for the result. */
async function orNull<T>(step: () => T | Promise<T>, failure: string, log: Logger): Promise<T | null> {
  try {
    return await step();
  } catch (error) {
    log.error({ error: messageOf(error) }, failure);
    return null;
  }
}

interface OpenedWorkspace {
  workspace: Workspace;
  /** The release that is kept in it; null: the folder is new. */
  release: KeptRelease | null;
  /** It becomes a release of this task. */
  isPromoted?: boolean;
  /** The release is on its way into it; null: it is there, or is built. */
  incoming: IncomingRelease | null;
  /** The data that came with it. */
  data: IncomingData | null;
}

/** Null: the workspace that was approved is gone. */
async function openWorkspace(
  instruction: RunTask,
  { workspaces, execution }: RunTaskParts,
): Promise<OpenedWorkspace | null> {
  const { release, approval, projectId, taskId, attempt, folders } = instruction;
  const built = approval?.step === "deploy" ? approval.workspace : null;
  const from = built ?? release.from;
  const kept = from && (await workspaces.reopen(projectId, from.taskId, from.attempt));
  if (kept) return { workspace: kept, release: from, incoming: null, data: null };
  if (built) return null;
  const { promotes } = release;
  if (promotes !== undefined) {
    if (execution.isolation === "none" && folders.data.length + folders.scratch.length > 0)
      throw new ReasonError(newReason("promotion_no_sandbox"));
    const into = promotedInto(instruction);
    const opened = { release: from ?? promotes, isPromoted: from === null, data: null };
    const source = await workspaces.reopen(promotes.projectId, promotes.taskId, promotes.attempt);
    if (source === null) {
      if (!release.fetch) return null;
      const incoming = await workspaces.receive(promotes.projectId, promotes.taskId, promotes.attempt);
      return { ...opened, workspace: incoming.workspace, incoming };
    }
    const workspace = await workspaces.promote(
      projectId,
      into.taskId,
      into.attempt,
      source,
      promotes.projectId,
    );
    return { ...opened, workspace, incoming: null };
  }
  if (from && release.fetch) {
    const incoming = await workspaces.receive(projectId, from.taskId, from.attempt);
    return { workspace: incoming.workspace, release: from, incoming, data: null };
  }
  const workspace = await workspaces.open(projectId, taskId, attempt);
  return { workspace, release: null, incoming: null, data: null };
}

/** The release whose build made the files that a promotion uses. A release that was itself promoted names an earlier one. */
function promotedInto({ release, taskId, attempt }: RunTask): Pick<KeptRelease, "taskId" | "attempt"> {
  return release.from ?? { taskId, attempt };
}

async function closeWorkspace(
  { release, approval, waitingTasks }: RunTask,
  opened: OpenedWorkspace | null,
  end: StageEnd,
  { releases, held }: RunTaskParts & { held: HeldTask },
): Promise<void> {
  // The server decides about the task, and may hand the approved deploy out again.
  if (approval?.step === "deploy" && held.lost.aborted) return;
  const isSuccess = end.state === "success";
  const becomes: WorkspaceEnd =
    isSuccess && approval?.step === "build"
      ? { state: "waiting", until: approval.keepUntil }
      : isSuccess && release.isKept
        ? { state: "kept", keep: releases }
        : { state: "gone" };
  if (!isSuccess) await opened?.data?.undo();
  await opened?.workspace.close({ ...becomes, waitingTasks });
  if (isSuccess) await opened?.data?.done();
}

/** The images that its services in containers run. */
function imagesOf({ projectId }: RunTask, { services }: RunTaskParts): Pick<FinishRequest, "images"> {
  const running = services.serving(projectId)?.services.filter(({ imageId }) => imageId !== "") ?? [];
  return running.length === 0
    ? {}
    : { images: Object.fromEntries(running.map(({ name, imageId }) => [name, imageId])) };
}

/** The releases of the project on this runner, with their disk use. */
async function keptOf(
  { release, projectId }: RunTask,
  { workspaces }: RunTaskParts,
): Promise<Pick<FinishRequest, "kept">> {
  if (!release) return {};
  const sizes = workspaces.kept(projectId).map(async ({ taskId, folder, digest }) => ({
    ...{ taskId, bytes: await diskUseOf([folder]) },
    ...(digest === null ? {} : { digest }),
  }));
  return { kept: await Promise.all(sizes) };
}

function secretsOf(instruction: RunTask): string[] {
  const { credential } = instruction.repo;
  const ofCredential =
    credential?.type === "token" ? [credential.token] : credential ? [credential.privateKey] : [];
  const { secrets, deploySecrets = {} } = instruction;
  return [...Object.values(secrets), ...Object.values(deploySecrets), ...ofCredential];
}

const noCacheLine =
  "[the cache is not used: the deploy of this ref needs an approval, and builds that need none write to the same cache]";

const notMeasuredLine =
  "[the limit of the disk was not checked: releases and data of the project could not be measured within a minute]";

interface Work extends RunTaskParts {
  /** The instruction has what the file of the repository says. */
  completed(instruction: RunTask): void;
  held: HeldTask;
  guard: TaskGuard;
  stream: LogStream;
}

async function work(asked: RunTask, opened: OpenedWorkspace, parts: Work): Promise<StageEnd> {
  let instruction = asked;
  const { held, stream } = parts;
  const { release } = opened;
  let { workspace } = opened;
  const { user } = parts.execution;
  if (user !== null) letEnter(user, parts.workspaces.root, workspace.scripts);
  if (!(await isGoing(held, { stage: "checkout", state: "running", exitCode: null })))
    return stoppedEnd("checkout", held);
  const received = await receive(instruction, opened, parts);
  const checkedOut = received ?? release ?? (await checkOut(instruction, { ...parts, workspace }));
  if ("state" in checkedOut) {
    await held.stage({ stage: "checkout", state: checkedOut.state, exitCode: null });
    return held.stopped.aborted ? stoppedEnd("checkout", held) : checkedOut;
  }
  workspace = opened.workspace;
  if (release)
    stream.writeLine(
      "checkout",
      `commit ${release.commit} from the kept workspace of task ${release.taskId}${opened.isPromoted ? ": nothing is built" : ""}`,
    );
  const { settings } = instruction.release;
  if (settings !== undefined) stream.writeLine("checkout", settings);
  const commit = { commit: checkedOut.commit, message: checkedOut.message.slice(0, 10_000) };
  if (!(await isGoing(held, { stage: "checkout", state: "success", exitCode: 0, ...commit })))
    return stoppedEnd("checkout", held);
  if (instruction.pipelineFile !== undefined && "file" in checkedOut && checkedOut.file !== undefined) {
    const whole = await withPipelineFile(instruction, instruction.pipelineFile, checkedOut.file, parts);
    if ("state" in whole) return whole;
    instruction = whole;
    parts.completed(whole);
  }

  const isBuilding = !release && instruction.stages.some(({ name }) => name === "build");
  const cachePaths = isBuilding ? instruction.cache : [];
  const cache = openCacheFolders(parts.workspaces.root, instruction, user);
  if (cachePaths.length > 0)
    for (const line of await cache.link(workspace.source, cachePaths, instruction.emptyCache))
      stream.writeLine("checkout", line);
  if (instruction.emptyCache && cachePaths.length > 0) stream.writeLine("checkout", noCacheLine);
  const waitsForPlace = () =>
    stream.writeLine("system", "[waiting: this runner runs as many tasks as runner.concurrency permits]");
  const seal: SealParts = {
    ...{ workspace, workspaces: parts.workspaces, user, held },
    linked: () => cache.linked(workspace.source, cachePaths),
    writeLine: (text) => stream.writeLine("system", text),
  };
  const stages = openStageFolders(workspace.folder, user);
  if (cachePaths.length > 0 && !instruction.emptyCache)
    cache.linkHome((await stages.of("build")).home, cachePaths);
  // After the last change by the runner itself: the user's processes could put links in the way of a runner that is root.
  if (user !== null && !release) await giveTo(user, workspace.source);
  // A rollback to a kept release waits for nothing.
  const leave = workspace.isRelease ? () => {} : await parts.places.take(held.stopped, waitsForPlace);
  if (leave === null) return stoppedEnd("checkout", held);
  try {
    const caches = cachePaths.length > 0 && !instruction.emptyCache ? cache.folder : null;
    return await runOrRollBack(instruction, opened, { ...parts, checkedOut, caches, seal, stages });
  } finally {
    leave();
    const emptied = cachePaths.length > 0 ? await cache.limit(parts.cacheMaxBytes, parts.log) : null;
    if (emptied !== null) stream.writeLine("system", emptied);
  }
}

/** Fetches what the instruction says that another runner or project has. Null: all of it is here. */
async function receive(instruction: RunTask, opened: OpenedWorkspace, parts: Work): Promise<StageEnd | null> {
  const { fetch } = instruction.release;
  if (fetch === undefined) return null;
  const receiving = { ...parts, writeLine: (text: string) => parts.stream.writeLine("checkout", text) };
  if (opened.incoming !== null) {
    const placed = await receiveRelease(instruction, fetch, opened.incoming, receiving);
    if ("fault" in placed) return failed(placed.fault);
    const { promotes } = instruction.release;
    const { taskId, attempt } = promotedInto(instruction);
    opened.workspace =
      promotes === undefined
        ? placed
        : await parts.workspaces.promote(instruction.projectId, taskId, attempt, placed, promotes.projectId);
  }
  if (!fetch.withData) return null;
  const data = await receiveData(instruction, fetch, receiving);
  if ("fault" in data) return failed(data.fault);
  opened.data = data;
  return null;
}

/** Runs the stages; if one fails after deploy has begun, the previous release is restored, unless it still serves. */
async function runOrRollBack(
  instruction: RunTask,
  { workspace, release, incoming, isPromoted = false }: OpenedWorkspace,
  parts: Work & {
    checkedOut: CheckedOut;
    caches: string | null;
    seal: SealParts;
    stages: StageFoldersOfTask;
  },
): Promise<StageEnd> {
  const { held, stream, workspaces, checkedOut, seal } = parts;
  if (instruction.stages.length === 0 && !instruction.services?.length && !instruction.approval)
    stream.writeLine("system", "No stage has a script to run: the commit was checked out, and that is all.");
  const former = workspaces.former(instruction.projectId, instruction.limits.stopGraceMs);
  const stageParts = { ...parts, former, log: stream };
  const isDeployed = instruction.services !== null || instruction.stages.some(({ name }) => name !== "build");
  const ended = await runStages(instructionOf(instruction, isPromoted ? null : release), checkedOut, {
    ...stageParts,
    workspace,
    leaveBuild: () => sealRelease(instruction, seal),
    releaseFault: async () => {
      if (instruction.approval?.step === "build" || isDeployed) await sealRelease(instruction, seal);
      return release && incoming === null ? null : sizeFault(instruction, workspace, parts);
    },
  });
  await parts.stages.remove();
  if (ended.end.state !== "success" && ended.isAnnounced && held.isCertain())
    await rollBack(instruction, ended, stageParts);
  return ended.end;
}

/** Why a new release is too large for the disk that its project may use; null: it is not. */
async function sizeFault(
  { projectId, waitingTasks, limits }: RunTask,
  workspace: Workspace,
  { disk, releases, stream }: Work,
): Promise<Reason | null> {
  const limitBytes = limits.diskBytes ?? null;
  const check = await disk.check({ projectId, workspace, keep: releases, waitingTasks, limitBytes });
  if (check.result === "unknown") stream.writeLine("system", notMeasuredLine);
  return check.result === "exceeded" ? check.reason : null;
}

/** A kept release runs its deploy and start with the id of its own task. */
function instructionOf(instruction: RunTask, release: KeptRelease | null): RunTask {
  if (release === null) return instruction;
  const { taskId, attempt, ref } = release;
  const stages = instruction.stages.filter(({ name }) => name !== "build");
  return { ...instruction, taskId, attempt, ref, stages };
}
