import { join } from "node:path";
import { type Clock, pause } from "../../clock.ts";
import { Fault, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { randomToken } from "../../secrets.ts";
import { openLifeline } from "../process/lifeline.ts";
import {
  type ClaimRequest,
  maxBeyondConcurrency,
  type RunTask,
  runnerFeatures,
  runTask as runTaskInstruction,
  transferFeature,
} from "../protocol.ts";
import { openRoutes, type ProxySettings } from "../route/routes.ts";
import {
  buildServerClient,
  isTokenRefused,
  type ServerAddress,
  type ServerRefusal,
} from "../server/server-client.ts";
import { buildServerWatch } from "../server/server-watch.ts";
import { openServices, type ServicesOptions } from "../service/services.ts";
import { type ExecutionOptions, openExecution } from "../stage/execution.ts";
import { sweepIncomingData } from "../transfer/fetch-data.ts";
import { sweepCacheFolders } from "../workspace/cache-folders.ts";
import { sweepOwnFolders } from "../workspace/own-folder.ts";
import { openProjectDisk } from "../workspace/project-disk.ts";
import { openWorkspaces, type WorkspaceFolders, type WorkspacePolicy } from "../workspace/workspace.ts";
import { buildPlaces } from "./places.ts";
import { runTask } from "./run-task.ts";
import { answerReaders, reportServices } from "./service-calls.ts";

export interface RunnerOptions {
  /** Read for each call. */
  address(): ServerAddress;
  labels: string[];
  /** Whether it also takes projects without labels although it has labels. */
  concurrency: number;
  folders: WorkspaceFolders;
  execution: ExecutionOptions;
  services: Pick<ServicesOptions, "ports" | "output">;
  proxy: ProxySettings;
  /** Largest cache of one project. */
  cacheMaxBytes: number;
  workspacePolicy: WorkspacePolicy;
  /** How many releases of a project are kept. */
  releases: number;
  /** Most that releases and data of one project may take; null: no limit. */
  projectQuotaBytes: number | null;
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
  /** Whether its services end with it. They start again with the next runner. */
  endsServices(): boolean;
}

/** Delay before the next request to a server that sent something other than run_task. */
const strangeWaitMs = 500;

const measureEveryMs = 10 * 60_000;

/** The execution side: requests work and runs it, until it is drained. */
export async function runRunner(options: RunnerOptions): Promise<void> {
  const { log, drain } = options;
  const client = buildServerClient(options.address);
  const { root, former } = options.folders;
  const execution = await openExecution(options.execution, root, log);
  const routes = await openRoutes({ ...options.proxy, root, env: options.env, log });
  const services = await openServices({
    ...options.services,
    routes,
    root,
    execution,
    env: options.env,
    clock: options.clock,
    log,
  });
  // Before anything is removed: it knows which releases are in use.
  await services.resume();
  const workspaces = openWorkspaces({
    ...options.folders,
    policy: options.workspacePolicy,
    owner: execution.user,
    isUsed: services.isUsed,
    clock: options.clock,
    log,
  });
  const disk = openProjectDisk(workspaces, options.projectQuotaBytes);
  const roots = former === null ? [root] : [root, former];
  for (const each of roots) sweepOwnFolders(join(each, "tmp"), log);
  await sweepIncomingData(join(root, "data"), (id) => services.serving(id) !== null, log);
  await sweepCacheFolders(root, options.clock.now(), log);
  const swept = await workspaces.sweep(options.stopGraceMs);
  if (swept > 0)
    log.warn({ swept }, "ended and removed what a killed runner, or projects of long ago, had left");
  /** Running attempts. A task can have two: the attempt that lost its lease and is being ended, and the next attempt. */
  const running = new Set<Promise<void>>();
  const places = buildPlaces(options.concurrency);
  const serverWatch = buildServerWatch(options);
  const stop = AbortSignal.any([drain, options.abandon]);
  const ended = new AbortController();
  const request = (): ClaimRequest => ({
    labels: options.labels,
    concurrency: options.concurrency,
    version: options.version,
    isolation: execution.isolation,
    proxy: routes.proxy,
    ...(routes.note === null ? {} : { proxyNote: reasonJson({ reason: routes.note }) }),
    containers: execution.hasContainers,
    features: [...runnerFeatures, transferFeature, ...(execution.isolation === "sandbox" ? ["sandbox"] : [])],
  });
  const lifeline = openLifeline(log);
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
      services,
      disk,
    })
      .catch((error: unknown) => log.error({ taskId, error: messageOf(error) }, "a task broke off"))
      .finally(() => {
        running.delete(done);
        void disk.measure([instruction.projectId]);
        log.info({ taskId, attempt }, "task ended");
        aTaskEnded.resolve();
        aTaskEnded = Promise.withResolvers();
      });
    running.add(done);
  }

  /** Services write data between the tasks of their projects. */
  const measureServices = () =>
    void disk.measure(new Set(services.reports().map(({ projectId }) => projectId)));
  const measuring = setInterval(measureServices, measureEveryMs);
  measuring.unref();

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
    measureServices();
    const calls = { services, disk, workspaces, client, log, stop: ended.signal };
    void reportServices(calls);
    void answerReaders(calls);
    await askForWork();
    if (running.size > 0)
      log.info({ running: running.size }, "taking no more work; finishing the tasks that run");
    await Promise.all(running);
    if (options.endsServices()) await services.stopAll();
  } finally {
    ended.abort();
    clearInterval(measuring);
    services.close();
    routes.close();
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
