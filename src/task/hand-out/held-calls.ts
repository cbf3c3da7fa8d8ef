import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import { defaultSettleSeconds, type Project } from "../../model/project.ts";
import type { Runner } from "../../model/runner.ts";
import type { Keepers, Store } from "../../model/store.ts";
import { isFinished, type LogLine, type Task, type TaskStage } from "../../model/task.ts";
import type {
  BeatRequest,
  FinishRequest,
  Held,
  HeldAnswer,
  LogRequest,
  StageRequest,
} from "../../runner/protocol.ts";
import { hashToken } from "../../secrets.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { taskTopic, type Wakeups } from "../events/wakeups.ts";
import { endStages, hasSideEffects, isSideEffect, setStage } from "../queue/stages.ts";
import { stageTimeoutMs, type TaskLimits } from "./instruction.ts";
import { buildSilenceWatch } from "./silence-watch.ts";

/** The calls of a runner about a task it holds. All are idempotent; all renew the lease; all say whether to go on. */
export interface HeldCalls {
  beat(runner: Runner, request: BeatRequest, signal: AbortSignal): Promise<HeldAnswer>;
  log(runner: Runner, request: LogRequest): Promise<HeldAnswer>;
  stage(runner: Runner, request: StageRequest): Promise<HeldAnswer>;
  finish(runner: Runner, request: FinishRequest): Promise<HeldAnswer>;
  /** Answers waiting heartbeats and refuses new ones: the server is about to close. */
  release(): void;
}

export interface HeldCallsParts {
  store: Store;
  events: TaskEvents;
  wakeups: Wakeups;
  limits: TaskLimits;
  clock: Pick<Clock, "elapsed">;
}

const heldStates = ["dispatched", "running", "canceling"] as const;
const leaseLost: HeldAnswer = { continue: false, why: "lease_lost" };
/** A cancel by another instance is seen by looking this often. */
const lookEveryMs = 1000;
/** "Last seen" need not be truer than this; it counts in tens of seconds. */
const seenEveryMs = 10_000;
/** The runner keeps the time of a stage; this much later the server says so itself. */
const timeoutSlackMs = 15_000;
/** A runner cuts the log at its limit; what a faulty one sends beyond it is acknowledged and dropped. */
const logSlackBytes = 1024 * 1024;
/** SIGTERM and SIGKILL of a previous service. */
const endingMs = 60_000;

type Change = Partial<Omit<Task, "id" | "projectId" | "createdAt">>;

export function buildHeldCalls({ store, events, wakeups, limits, clock }: HeldCallsParts): HeldCalls {
  const watch = buildSilenceWatch(clock.elapsed);
  const released = new AbortController();

  /** Renews the lease and applies `set`, only while the caller still holds the task. */
  async function renew(keepers: Keepers, runner: Runner, held: Held, set: Change = {}): Promise<Task | null> {
    const now = await store.now();
    const task = await keepers.tasks.change(held.taskId, {
      whileIn: heldStates,
      leaseHash: hashToken(held.lease),
      set: { leaseUntil: new Date(now.getTime() + limits.leaseMs), ...set },
    });
    return task && task.runnerId === runner.id && task.attempt === held.attempt ? task : null;
  }

  /** A runner whose places are all taken does not ask for work, but it is there. */
  async function seen({ id, lastSeenAt }: Runner): Promise<void> {
    const now = await store.now();
    if (lastSeenAt !== null && Math.abs(now.getTime() - lastSeenAt.getTime()) < seenEveryMs) return;
    await store.runners.update(id, { lastSeenAt: now });
  }

  async function answerFor(task: Task): Promise<HeldAnswer> {
    // The deploy may have begun while another instance made the task that supersedes it.
    if (task.state === "canceling" && !(task.supersededBy !== null && hasSideEffects(task.stages)))
      return { continue: false, why: task.supersededBy === null ? "canceled" : "superseded" };
    const running = task.stages.find((stage) => stage.state === "running");
    if (!running) return { continue: true };
    const project = await store.projects.byId(task.projectId);
    if (!project) return { continue: false, why: "canceled" };
    const sign = `${task.attempt} ${running.name}`;
    return watch.unchangedMs(task.id, sign) > allowedMs(project, running)
      ? { continue: false, why: "timeout" }
      : { continue: true };
  }

  function allowedMs(project: Project, stage: TaskStage): number {
    const scriptMs = stageTimeoutMs(project.stages, stage.name, limits);
    return scriptMs + afterScriptMs(project, stage, scriptMs) + limits.stopGraceMs + timeoutSlackMs;
  }

  return {
    async beat(runner, request, signal) {
      // An immediate answer would cause the next heartbeat at once, over a connection that is still open.
      if (released.signal.aborted)
        throw new Fault("unavailable", "The server is stopping; ask again soon.", { retryAfterSeconds: 1 });
      const isOver = AbortSignal.any([signal, released.signal]);
      const endsAt = performance.now() + request.waitMs;
      await seen(runner);
      let task = await renew(store, runner, request);
      while (task) {
        const answer = await answerFor(task);
        const leftMs = endsAt - performance.now();
        if (!answer.continue || leftMs <= 0 || isOver.aborted) return answer;
        await wakeups.wait(taskTopic(task.id), Math.min(leftMs, lookEveryMs), isOver);
        const seen = await store.tasks.byId(task.id);
        task = seen && seen.leaseHash === task.leaseHash && !isFinished(seen.state) ? seen : null;
      }
      return leaseLost;
    },

    async log(runner, request) {
      const logged = await store.transaction(async (keepers) => {
        const task = await renew(keepers, runner, request);
        if (!task) return null;
        const end = request.from + request.lines.length;
        if ((await keepers.tasks.logBytes(task.id)) > limits.logMaxBytes + logSlackBytes)
          return { task, fresh: [], ack: end };
        const before = await keepers.tasks.nextLogIndex(task.id);
        const lines = request.lines.map((line, offset) => ({
          ...line,
          index: request.from + offset,
          at: new Date(line.at),
        }));
        const ack = await keepers.tasks.appendLog(task.id, lines);
        return { task, fresh: lines.filter((line) => line.index >= before && line.index < ack), ack };
      });
      if (!logged) return leaseLost;
      if (logged.fresh.length > 0) events.logged(logged.task, logged.fresh satisfies LogLine[]);
      return { ...(await answerFor(logged.task)), ack: logged.ack };
    },

    async stage(runner, request) {
      const done = await store.transaction(async (keepers) => {
        const held = await renew(keepers, runner, request);
        if (!held || (held.state === "canceling" && request.state === "running"))
          return held && { task: held, what: "changed" as const };
        const now = await store.now();
        const { commit, message } = request;
        const isStart = held.startedAt === null;
        const task = await keepers.tasks.change(held.id, {
          whileIn: [held.state],
          set: {
            stages: setStage(held.stages, request, now),
            ...(held.state === "dispatched" ? { state: "running" } : {}),
            ...(isStart ? { startedAt: now } : {}),
            ...(commit ? { commit } : {}),
            ...(message && held.message === "" ? { message } : {}),
          },
        });
        if (request.endsPrevious) await keepers.projects.setLiveTask(held.projectId, null);
        const isResolved = commit !== undefined && held.commit === null;
        const what = isStart ? "started" : isResolved ? "resolved" : "changed";
        return task && ({ task, what } as const);
      });
      if (!done) return leaseLost;
      events[done.what](done.task);
      return answerFor(done.task);
    },

    async finish(runner, request) {
      const done = await store.transaction(async (keepers) => {
        const held = await renew(keepers, runner, request);
        if (!held) return null;
        const now = await store.now();
        // A cancel keeps its own words: who did it, or what superseded it.
        const reason = request.state === "canceled" && held.reason ? held.reason : request.reason;
        const task = await keepers.tasks.change(held.id, {
          whileIn: [held.state],
          set: {
            state: request.state,
            reason: held.state === "canceling" && request.state === "success" ? "" : reason,
            stages: endStages(held.stages, request.state, now),
            leaseUntil: null,
            startedAt: held.startedAt ?? now,
            finishedAt: now,
          },
        });
        // A task that failed or was ended after its deploy is not a version to return to.
        if (task?.state === "success" && hasDeployed(task))
          await keepers.projects.setLiveTask(task.projectId, task.id);
        return task;
      });
      if (!done) return leaseLost;
      events.finished(done);
      return { continue: false };
    },
    release: () => released.abort(),
  };
}

/** What follows the script of a start stage: the check or the settling, the switch script, the end of the previous service. */
function afterScriptMs({ stages: { start } }: Project, { name }: TaskStage, scriptMs: number): number {
  if (name !== "start") return 0;
  const seconds = start.healthCheck?.timeoutSeconds ?? start.settleSeconds ?? defaultSettleSeconds;
  return seconds * 1000 + (start.switch ? scriptMs : 0) + endingMs;
}

function hasDeployed({ stages }: Task): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state === "success");
}
