import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";

export interface WorkerProcessesOptions {
  command: readonly string[];
  env: Record<string, string | undefined>;
  /** Written to the standard input of a worker that starts. */
  inputOf: (worker: number) => string;
  /** A worker ended before the instance was ready for the first time, ends again and again, or cannot be started. */
  onHopeless: (reason: string, exitCode: number) => void;
  clock: Clock;
  log: Logger;
}

interface Slot {
  process: Bun.Subprocess | null;
  /** When the current process began to serve; null: not yet. */
  servingSinceMs: number | null;
  /** Processes in succession that ended before they served, or soon after. */
  failures: number;
  /** Ends of the last seconds. */
  endedAtMs: number[];
  /** Since when every attempt to start a process failed; null: the last one succeeded. */
  unstartableSinceMs: number | null;
  /** Checks that found the current process without a connection. */
  unconnectedChecks: number;
}

/** A worker that ends sooner after it began to serve counts as failed. */
const soonMs = 250;
const maxFailures = 5;
const longestDelayMs = 800;
/** A worker that ends more often within the window is in a crash loop, although it serves in between. */
const maxEnds = 20;
const endWindowMs = 10_000;
/** Longer than for workers that end: a lack of memory, processes or files may pass, and the other workers serve meanwhile. */
const unstartableMs = 60_000;
/** Checks, one a second, that a process may take to connect. Many workers that start together share the cores. */
const maxUnconnectedChecks = (workers: number) => 30 + workers / 2;

/** Starts the worker processes, and starts each again when it ends. */
export class WorkerProcesses {
  readonly #options: WorkerProcessesOptions;
  readonly #slots = new Map<number, Slot>();
  #isStopping = false;
  #hasBeenReady = false;

  constructor(options: WorkerProcessesOptions) {
    this.#options = options;
  }

  startAll(count: number): void {
    for (let worker = 1; worker <= count; worker++) {
      this.#slots.set(worker, {
        process: null,
        servingSinceMs: null,
        failures: 0,
        endedAtMs: [],
        unstartableSinceMs: null,
        unconnectedChecks: 0,
      });
      this.#start(worker);
    }
  }

  /** All workers serve. From now on a worker that ends is replaced. */
  allServe(): void {
    this.#hasBeenReady = true;
  }

  serves(worker: number): void {
    const slot = this.#slots.get(worker);
    if (slot) slot.servingSinceMs = this.#options.clock.now();
  }

  /** No worker is started from now on. */
  stopping(): void {
    this.#isStopping = true;
  }

  kill(worker: number): void {
    this.#slots.get(worker)?.process?.kill("SIGKILL");
  }

  /**
   * Call once a second with the workers that have a connection: a process that hangs before it connects is ended. Checks
   * are counted instead of time, because a supervisor that was suspended has not read the connections yet.
   */
  endUnconnected(connected: ReadonlySet<number>): void {
    for (const [worker, slot] of this.#slots) {
      if (connected.has(worker) || slot.process === null) continue;
      if (++slot.unconnectedChecks <= maxUnconnectedChecks(this.#slots.size)) continue;
      this.#options.log.error({ worker }, "a worker does not connect; it is ended");
      this.kill(worker);
    }
  }

  /** Resolves when no worker runs. */
  async ended(): Promise<void> {
    await Promise.all([...this.#slots.values()].map(({ process }) => process?.exited));
  }

  killAll(): void {
    for (const worker of this.#slots.keys()) this.kill(worker);
  }

  #start(worker: number): void {
    const slot = this.#slots.get(worker);
    if (!slot || this.#isStopping) return;
    slot.servingSinceMs = null;
    slot.unconnectedChecks = 0;
    try {
      const child = this.#spawn(worker);
      slot.process = child;
      slot.unstartableSinceMs = null;
      void child.exited.then(() => this.#ended(worker, slot, child));
    } catch (error) {
      this.#unstartable(worker, slot, messageOf(error));
    }
  }

  #spawn(worker: number): Bun.Subprocess {
    const { command, env, inputOf } = this.#options;
    return Bun.spawn([...command], {
      env,
      stdin: Buffer.from(inputOf(worker)),
      stdout: "inherit",
      stderr: "inherit",
      // A separate process group: Ctrl-C reaches only the supervisor, which drains the workers.
      detached: true,
    });
  }

  #unstartable(worker: number, slot: Slot, reason: string): void {
    const { clock, log, onHopeless } = this.#options;
    const nowMs = clock.now();
    slot.unstartableSinceMs ??= nowMs;
    if (!this.#hasBeenReady || nowMs - slot.unstartableSinceMs >= unstartableMs) {
      onHopeless(`worker ${worker} could not be started: ${reason}`, 1);
      return;
    }
    log.error({ worker, reason }, "a worker could not be started; the next attempt follows");
    setTimeout(() => this.#start(worker), longestDelayMs);
  }

  #ended(worker: number, slot: Slot, child: Bun.Subprocess): void {
    const { clock, log, onHopeless } = this.#options;
    slot.process = null;
    if (this.#isStopping) return;
    const nowMs = clock.now();
    const how = child.signalCode ?? `exit code ${child.exitCode}`;
    if (!this.#hasBeenReady) {
      onHopeless(`worker ${worker} ended with ${how} while it started`, child.exitCode || 1);
      return;
    }
    const hasServed = slot.servingSinceMs !== null && nowMs - slot.servingSinceMs >= soonMs;
    slot.failures = hasServed ? 0 : slot.failures + 1;
    slot.endedAtMs = [...slot.endedAtMs.filter((atMs) => nowMs - atMs < endWindowMs), nowMs];
    log.error({ worker, how }, "a worker ended; it is started again");
    if (slot.failures >= maxFailures || slot.endedAtMs.length > maxEnds) {
      onHopeless(
        `worker ${worker} ended ${slot.endedAtMs.length} times in a short time, last with ${how}`,
        1,
      );
      return;
    }
    const delayMs = slot.failures === 0 ? 0 : Math.min(longestDelayMs, 50 * 2 ** slot.failures);
    setTimeout(() => this.#start(worker), delayMs);
  }
}
