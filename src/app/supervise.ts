import { chmodSync } from "node:fs";
import { join } from "node:path";
import { steadyClock, systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { type GatewayKeys, gatewayKeysOf } from "../config/gateway-keys.ts";
import { originalEnvironment } from "../direct-hosts.ts";
import { Fault } from "../errors.ts";
import { listenOn } from "../http/server.ts";
import type { ListenAddress } from "../listen-address.ts";
import type { Logger } from "../logger.ts";
import { buildMetrics } from "../metrics.ts";
import { ownCommand } from "../own-command.ts";
import { randomToken } from "../secrets.ts";
import { type PortLock, takePortLock } from "../workers/port-lock.ts";
import type { WorkerAnswers, WorkerServing, WorkerStart } from "../workers/protocol.ts";
import { InstanceLimits } from "../workers/supervisor/instance-limits.ts";
import { MetricsSum, type ProcessMetrics } from "../workers/supervisor/metrics-sum.ts";
import { SharedLog } from "../workers/supervisor/shared-log.ts";
import { Switchboard } from "../workers/supervisor/switchboard.ts";
import { WorkerProcesses } from "../workers/supervisor/worker-processes.ts";
import { instanceName, logFileMaxBytes, logFilesOf, logWindowsMs } from "./buses.ts";
import { checkCodeSources } from "./codes/code-sources.ts";
import { instanceMaxConnections } from "./push-part.ts";
import { workerCommand } from "./worker-count.ts";

/** A running supervisor with its workers. */
export interface SupervisedWorkers extends WorkerServing {
  /** What is missing until every worker is ready; null: nothing. */
  missing(): Promise<string | null>;
  replaceKeys(keys: GatewayKeys): Promise<void>;
  /** Drains all workers, then ends them. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The workers of a supervisor that was killed need a moment to end. */
const orphansEndMs = 500;
const tickMs = 1_000;
/** A worker that does not answer within this time hangs, and is replaced. */
const silentMs = 10_000;
/** After this time of the supervisor's own silence, the workers' silence means nothing. */
const sleptMs = 3 * tickMs;
/** How long a worker may take to close after all have drained. */
const endWithinMs = 15_000;

/**
 * Runs the gateway in several processes on one port. `onFailed` is called if the workers cannot be kept running. Resolves
 * when all workers serve.
 */
export async function superviseWorkers(
  config: Config,
  workers: number,
  log: Logger,
  onFailed: (reason: string) => void,
): Promise<SupervisedWorkers> {
  if (process.platform !== "linux")
    throw new Fault(
      "invalid",
      "push.workers needs Linux, whose kernel distributes connections; set it to 1.",
    );
  checkCodeSources(config);
  const node = await instanceName(config);
  const { lock, address } = await lockAddress(config["server.listen"], log);
  const supervisor = new Supervisor({ ...config, "server.listen": address }, workers, node, lock, log);
  return supervisor.start(onFailed);
}

async function lockAddress(
  listen: ListenAddress,
  log: Logger,
): Promise<{ lock: PortLock; address: ListenAddress }> {
  if (listen.port === 0) {
    const address = { ...listen, port: await freePort(listen, log) };
    return { lock: await takePortLock(address), address };
  }
  const lock = await takePortLock(listen);
  try {
    await freePort(listen, log);
  } catch (error) {
    lock.release();
    throw error;
  }
  return { lock, address: listen };
}

/** Listens for a moment without sharing the port, which shows whether another program listens on it. */
async function freePort(listen: ListenAddress, log: Logger): Promise<number> {
  const untilMs = steadyClock.now() + orphansEndMs;
  for (;;) {
    try {
      const server = listenOn(listen, { routes: {}, fetch: () => new Response(), log });
      const { port = 0 } = server;
      await server.stop(true);
      return port;
    } catch (error) {
      if (steadyClock.now() > untilMs) throw error;
      await Bun.sleep(20);
    }
  }
}

class Supervisor {
  #config: Config;
  readonly #workers: number;
  readonly #node: string;
  readonly #lock: PortLock;
  readonly #log: Logger;
  readonly #bootTag = randomToken(6, "hex");
  readonly #socket: string;
  readonly #logs: SharedLog;
  readonly #switchboard: Switchboard;
  readonly #processes: WorkerProcesses;
  readonly #metrics = buildMetrics();
  readonly #metricsSum = new MetricsSum(steadyClock);
  readonly #allServe = Promise.withResolvers<WorkerServing>();
  readonly #allDrained = Promise.withResolvers<void>();
  #isServing = false;
  #isDraining = false;
  /** Whether the keys were replaced since the start. */
  #hasNewKeys = false;
  #tickedAtMs = steadyClock.now();
  #timer: ReturnType<typeof setInterval> | undefined;
  #onFailed: (reason: string) => void = () => {};

  constructor(config: Config, workers: number, node: string, lock: PortLock, log: Logger) {
    this.#config = config;
    this.#workers = workers;
    this.#node = node;
    this.#lock = lock;
    this.#log = log;
    this.#socket = join(lock.folder, "workers.sock");
    const isCluster = config["push.cluster-enabled"];
    this.#logs = new SharedLog({
      windowsMs: logWindowsMs(config),
      maxBytes: logFileMaxBytes,
      // In a cluster the broker has the logs.
      files: isCluster
        ? { broadcast: null, control: null }
        : logFilesOf({ config, log, clock: systemClock }, steadyClock),
      clock: systemClock,
      steady: steadyClock,
    });
    this.#switchboard = new Switchboard({
      logs: this.#logs,
      limits: new InstanceLimits(
        {
          maxConnections: instanceMaxConnections(config, workers),
          maxConnectionsPerUser: config["push.max-connections-per-user"],
          connectRate: config["push.connect-rate"],
        },
        steadyClock,
      ),
      metrics: (answers) => this.#metricsText(answers),
      workers,
      isDraining: () => this.#isDraining,
      onServing: (worker) => this.#serves(worker),
      onDrained: () => this.#checkDrained(),
      clock: steadyClock,
      log,
    });
    this.#processes = new WorkerProcesses({
      command: [...ownCommand(), workerCommand],
      env: environmentOfWorkers(),
      inputOf: (worker) => this.#inputOf(worker),
      onHopeless: (reason) => this.#hopeless(reason),
      clock: steadyClock,
      log,
    });
  }

  async start(onFailed: (reason: string) => void): Promise<SupervisedWorkers> {
    this.#onFailed = onFailed;
    this.#switchboard.listen(this.#socket);
    chmodSync(this.#socket, 0o600);
    this.#timer = setInterval(() => this.#tick(), tickMs);
    // However the supervisor ends; after kill -9 the workers notice the end of their connection.
    process.once("exit", () => this.#endNow());
    this.#processes.startAll(this.#workers);
    const serving = await this.#allServe.promise;
    this.#isServing = true;
    this.#log.info({ role: "push", url: serving.url, workers: this.#workers }, "listening");
    return {
      ...serving,
      facts: [`workers: ${this.#workers} processes share the port`, ...serving.facts],
      missing: () => this.#switchboard.missing(),
      replaceKeys: async (keys) => this.#replaceKeys(keys),
      stop: () => this.#stop(),
    };
  }

  #inputOf(worker: number): string {
    const secret = randomToken(32);
    this.#switchboard.expect(worker, secret);
    const start: WorkerStart = {
      secret,
      socket: this.#socket,
      worker,
      workers: this.#workers,
      config: this.#config,
      node: this.#node,
      bootTag: this.#bootTag,
    };
    return JSON.stringify(start);
  }

  #serves(worker: number): void {
    this.#processes.serves(worker);
    if (this.#isDraining) this.#switchboard.sendAll({ type: "drain" });
    if (this.#hasNewKeys) this.#switchboard.send(worker, { type: "keys", keys: gatewayKeysOf(this.#config) });
    const serving = [...this.#switchboard.peers].map((peer) => peer.serving).filter((each) => each !== null);
    if (serving.length < this.#workers || !serving[0]) return;
    this.#processes.allServe();
    this.#allServe.resolve(serving[0]);
  }

  /** A worker that starts now may have been given the earlier keys: it gets the new ones when it serves. */
  #replaceKeys(keys: GatewayKeys): void {
    this.#hasNewKeys = true;
    this.#config = { ...this.#config, ...keys };
    this.#switchboard.sendAll({ type: "keys", keys });
  }

  #hopeless(reason: string): void {
    this.#log.error({ reason }, "the workers cannot be kept running");
    if (this.#isServing) {
      this.#onFailed(reason);
      return;
    }
    this.#endNow();
    this.#allServe.reject(
      new Fault("internal", `The gateway does not start: ${reason}. Its message is above.`),
    );
  }

  #tick(): void {
    const nowMs = steadyClock.now();
    const hasSlept = nowMs - this.#tickedAtMs > sleptMs;
    this.#tickedAtMs = nowMs;
    this.#logs.dropOld();
    this.#logs.finishOverdue();
    for (const peer of this.#switchboard.peers) {
      if (hasSlept) peer.answeredAtMs = nowMs;
      if (nowMs - peer.answeredAtMs > silentMs) {
        this.#log.error({ worker: peer.worker }, "a worker does not answer; it is ended");
        this.#processes.kill(peer.worker);
      } else peer.send({ type: "ping" });
    }
    this.#processes.endUnconnected(new Set([...this.#switchboard.peers].map(({ worker }) => worker)));
  }

  async #stop(): Promise<void> {
    if (!this.#isDraining) {
      this.#isDraining = true;
      this.#processes.stopping();
      this.#switchboard.sendAll({ type: "drain" });
      this.#checkDrained();
    }
    await this.#allDrained.promise;
    const tooLong = setTimeout(() => this.#processes.killAll(), endWithinMs);
    await this.#processes.ended();
    clearTimeout(tooLong);
    this.#endNow();
    this.#log.info("stopped");
  }

  #checkDrained(): void {
    if (![...this.#switchboard.peers].every(({ isDrained }) => isDrained)) return;
    this.#switchboard.sendAll({ type: "stop" });
    this.#allDrained.resolve();
  }

  #endNow(): void {
    // Otherwise it would keep a supervisor alive whose workers do not start.
    clearInterval(this.#timer);
    this.#processes.stopping();
    this.#processes.killAll();
    this.#switchboard.close();
    this.#logs.close();
    this.#lock.release();
  }

  async #metricsText({ answers, names }: WorkerAnswers) {
    const own = { boot: "supervisor", metrics: await this.#metrics.getMetricsAsJSON() };
    const { users, online, channels } = names;
    return this.#metricsSum.textOf([...(answers as ProcessMetrics[]), own], {
      slipway_push_users: users,
      slipway_push_channels: channels,
      ...(this.#config["push.cluster-enabled"]
        ? {}
        : { slipway_push_cluster_users: online, slipway_push_cluster_instances: 1 }),
    });
  }
}

/** Workers get their settings from the supervisor, and no secret of its environment. */
function environmentOfWorkers(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(originalEnvironment()).filter(
      ([name]) => !name.startsWith("SLIPWAY_") && name !== "PGPASSWORD",
    ),
  );
}
