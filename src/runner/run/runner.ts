import { join } from "node:path";
import { type Clock, pause } from "../../clock.ts";
import { Fault, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { randomToken } from "../../secrets.ts";
import type { Masker } from "../log/masker.ts";
import { openLifeline } from "../process/lifeline.ts";
import { sweepOwnFolders } from "../process/own-folder.ts";
import {
  type ClaimRequest,
  type Held,
  maxBeyondConcurrency,
  type RunTask,
  runnerFeatures,
  runTask as runTaskInstruction,
} from "../protocol.ts";
import {
  buildServerClient,
  isTokenRefused,
  type ServerAddress,
  type ServerRefusal,
} from "../server/server-client.ts";
import { buildServerWatch } from "../server/server-watch.ts";
import { type ExecutionOptions, openExecution } from "../stage/execution.ts";
import type { RunningService } from "../stage/service-start.ts";
import { sweepCacheFolders } from "../workspace/cache-folders.ts";
import { limitServiceLogs, serviceLogMaxBytes } from "../workspace/service-logs.ts";
import { openWorkspaces, type WorkspaceFolders, type WorkspacePolicy } from "../workspace/workspace.ts";
import { buildPlaces } from "./places.ts";
import { runTask } from "./run-task.ts";
import { type ServiceWatch, watchService } from "./service-watch.ts";

export interface RunnerOptions {
  /** Read for each call. */
  address(): ServerAddress;
  labels: string[];
  /** Whether it also takes projects without labels although it has labels. */
  concurrency: number;
  folders: WorkspaceFolders;
  execution: ExecutionOptions;
  /** Largest cache of one project. */
  cacheMaxBytes: number;
  workspacePolicy: WorkspacePolicy;
  /** How many releases of a project are kept. */
  releases: number;
  stopGraceMs: number;
  version: string;
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Logger;
  /** An idle runner ends after this time without a server; null: it waits for ever. */
  endsAloneAfterMs: number | null;
  /** A token that is refused at start ends the runner with a Fault; otherwise it keeps trying. */
  endsWhenRefused: boolean;
  /** Aborted: takes no more work, finishes its tasks, ends. */
  drain: AbortSignal;
  /** Aborted: ends its tasks' processes and itself; the server decides about the tasks. */
  abandon: AbortSignal;
}

/** Delay before the next request to a server that sent something other than run_task. */
const strangeWaitMs = 500;
/** How often the output files of services are compared with their limit. */
const limitLogsEveryMs = 10_000;

/** The execution side: requests work and runs it, until it is drained. */
export async function runRunner(options: RunnerOptions): Promise<void> {
  const { log, drain } = options;
  const client = buildServerClient(options.address);
  const { root, former } = options.folders;
  const execution = await openExecution(options.execution, root, log);
  const workspaces = openWorkspaces({
    ...options.folders,
    policy: options.workspacePolicy,
    owner: execution.user,
    clock: options.clock,
    log,
  });
  const roots = former === null ? [root] : [root, former];
  for (const each of roots) sweepOwnFolders(join(each, "tmp"), log);
  await sweepCacheFolders(root, options.clock.now(), log);
  const swept = await workspaces.sweep(options.stopGraceMs);
  if (swept > 0)
    log.warn({ swept }, "ended and removed what a killed runner, or projects of long ago, had left");
  /** Running attempts. A task can have two: the attempt that lost its lease and is being ended, and the next attempt. */
  const running = new Set<Promise<void>>();
  const places = buildPlaces(options.concurrency);
  const watches = new Map<number, ServiceWatch>();
  /** Tasks whose release ended by itself and was not started again since. */
  const endedReleases = new Set<number>();
  const serverWatch = buildServerWatch(options);
  const stop = AbortSignal.any([drain, options.abandon]);
  const request = (): ClaimRequest => ({
    labels: options.labels,
    concurrency: options.concurrency,
    version: options.version,
    isolation: execution.isolation,
    containers: execution.hasContainers,
    features: execution.isolation === "sandbox" ? [...runnerFeatures, "sandbox"] : runnerFeatures,
  });
  const lifeline = openLifeline(log);
  const limiting = setInterval(() => {
    for (const each of roots) limitServiceLogs(each, serviceLogMaxBytes, log);
  }, limitLogsEveryMs);
  let aTaskEnded = Promise.withResolvers<void>();
  let answeredAt = options.clock.elapsed();
  let isGreeted = false;

  /** Logs where this runner is connected, its name there, and the tasks that it will take. */
  async function greet(): Promise<null> {
    const known = await client.hello(request(), stop);
    const { concurrency } = options;
    const { isolation } = execution;
    const { origin } = new URL(options.address().server);
    log.info(
      { server: origin, runner: known.name, labels: known.labels, concurrency, isolation },
      "connected",
    );
    const strange = options.labels.filter((label) => !known.labels.includes(label));
    if (strange.length > 0)
      log.warn(
        { labels: strange },
        "these labels are offered in vain: the runner is not registered with them",
      );
    return null;
  }

  function watch(held: Held & { projectId: number }, running: RunningService, masker: Masker): void {
    const { projectId } = held;
    const { taskId } = running.service;
    endedReleases.delete(taskId);
    const exited = () => void endedReleases.add(taskId);
    const { watching, replace } = watchService(held, running, { client, masker, log, stop, exited });
    const watch = {
      replace,
      watching: watching
        .catch((error: unknown) => log.error({ error: messageOf(error) }, "a service was not followed"))
        .finally(() => {
          if (watches.get(projectId) === watch) watches.delete(projectId);
        }),
    };
    watches.set(projectId, watch);
  }

  function start(instruction: RunTask): void {
    const { taskId, attempt } = instruction;
    log.info({ taskId, attempt, projectId: instruction.projectId }, "task begins");
    const done = runTask(instruction, {
      client,
      workspaces,
      lifeline,
      execution,
      cacheMaxBytes: options.cacheMaxBytes,
      clock: options.clock,
      log,
      env: options.env,
      newMark: () => `${taskId}-${attempt}-${randomToken(12, "hex")}`,
      abandon: options.abandon,
      releases: options.releases,
      places,
      watch,
      endWatch: (projectId) => watches.get(projectId)?.replace(),
      hasEndedByItself: (releaseTaskId) => endedReleases.has(releaseTaskId),
    })
      .catch((error: unknown) => log.error({ taskId, error: messageOf(error) }, "a task broke off"))
      .finally(() => {
        running.delete(done);
        log.info({ taskId, attempt }, "task ended");
        aTaskEnded.resolve();
        aTaskEnded = Promise.withResolvers();
      });
    running.add(done);
  }

  async function askForWork(): Promise<void> {
    while (!stop.aborted) {
      if (running.size >= options.concurrency + maxBeyondConcurrency) {
        await Promise.race([aTaskEnded.promise, aborted(stop)]);
        continue;
      }
      try {
        const answer = isGreeted ? await client.claim(request(), stop) : await greet();
        isGreeted = true;
        answeredAt = options.clock.elapsed();
        serverWatch.answered();
        if (answer !== null) start(readInstruction(answer));
      } catch (error) {
        if (stop.aborted) break;
        if (!isGreeted && options.endsWhenRefused && isTokenRefused(error))
          throw refused(options.address().server, error);
        if (error instanceof RefusedInstruction) log.error({ type: error.type }, error.message);
        if (
          running.size === 0 &&
          options.clock.elapsed() - answeredAt > (options.endsAloneAfterMs ?? Infinity)
        ) {
          log.warn("no server has answered for long; a new one starts a new runner");
          break;
        }
        await pause(error instanceof RefusedInstruction ? strangeWaitMs : serverWatch.failed(error), stop);
      }
    }
  }

  try {
    await askForWork();
    if (running.size > 0)
      log.info({ running: running.size }, "taking no more work; finishing the tasks that run");
    await Promise.all(running);
    await Promise.all([...watches.values()].map(({ watching }) => watching));
  } finally {
    clearInterval(limiting);
    lifeline.close();
  }
}

function refused(server: string, { status }: ServerRefusal): Fault {
  return new Fault(
    "invalid",
    `${new URL(server).origin} refuses the token of this runner (${status}): it is unknown, or its runner is disabled. Create a runner or reset its token under Runners in the console, and start this runner with the new token (--token-file FILE, or SLIPWAY_RUNNER_TOKEN=slr_…).`,
  );
}

class RefusedInstruction extends Error {
  override readonly name = "RefusedInstruction";
  readonly type: string;
  constructor(type: string, faults: string) {
    super(`refused an instruction that is not a well-formed run_task (${faults})`);
    this.type = type;
  }
}

/** Only `run_task` is accepted: even a compromised server cannot make a runner do anything else. */
function readInstruction(answer: unknown): RunTask {
  const read = runTaskInstruction.safeParse(answer);
  if (read.success) return read.data;
  const type =
    typeof answer === "object" && answer !== null && "type" in answer ? answer.type : typeof answer;
  const faults = read.error.issues.slice(0, 5).map((issue) => issue.path.join("."));
  throw new RefusedInstruction(String(type), faults.join(", "));
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
