import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Runner } from "../../model/runner.ts";
import type { FieldFault } from "../../model/service/service.ts";
import type { Store } from "../../model/store.ts";
import { isFinished, type Task } from "../../model/task.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import type {
  BeatRequest,
  FinishRequest,
  Held,
  HeldAnswer,
  LogRequest,
  PipelineRequest,
  RollbackRequest,
  StageRequest,
} from "../../runner/protocol.ts";
import { hashToken } from "../../secrets.ts";
import { announceDecided } from "../events/announce-decided.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { taskTopic, type Wakeups } from "../events/wakeups.ts";
import { pathInFile } from "../file-faults.ts";
import {
  appendLog,
  expireLease,
  finishTask,
  type HeldLease,
  renewLease,
  reportRollback,
  reportStage,
} from "../queue.ts";
import { mustStop } from "../transitions.ts";
import { allowedMs, givenUpAfterMs, progressOf } from "./deadline.ts";
import { runOfFile, type TaskLimits } from "./instruction.ts";
import { reportPipeline } from "./report-pipeline.ts";
import { noteSeen } from "./runner-seen.ts";
import { buildSilenceWatch } from "./silence-watch.ts";

export interface HeldCallsParts {
  store: Store;
  events: TaskEvents;
  wakeups: Wakeups;
  limits: TaskLimits;
  clock: Pick<Clock, "elapsed">;
  /** The setting routes.anyDomain. */
  anyDomain: boolean;
}

const leaseLost: HeldAnswer = { continue: false, why: "lease_lost" };
/** A cancel by another instance is detected by reading this often. */
const lookEveryMs = 1000;

/** The calls of a runner about a task it holds. All are idempotent, renew the lease, and return whether to continue. */
export function buildHeldCalls({ store, events, wakeups, limits, clock, anyDomain }: HeldCallsParts) {
  const watch = buildSilenceWatch(clock.elapsed);
  const released = new AbortController();

  const leaseOf = (runner: Runner, { taskId, attempt, lease }: Held): HeldLease => ({
    taskId,
    attempt,
    runnerId: runner.id,
    leaseHash: hashToken(lease),
    leaseMs: limits.leaseMs,
  });

  async function answerFor(task: Task): Promise<HeldAnswer> {
    const project = await store.projects.byId(task.projectId);
    if (!project) return { continue: false, why: "canceled" };
    const unchangedMs = watch.unchangedMs(task.id, progressOf(task));
    const overMs = unchangedMs - (await allowedMs(store, task, project, limits));
    if (overMs > givenUpAfterMs(limits) && (await giveUp(task))) return leaseLost;
    if (mustStop(task))
      return { continue: false, why: task.supersededBy === null ? "canceled" : "superseded" };
    return overMs > 0 ? { continue: false, why: "timeout" } : { continue: true };
  }

  /** Its runner lives, but does not end the task: nobody would decide about it. */
  async function giveUp({ id, leaseHash, leaseUntil }: Task): Promise<boolean> {
    if (leaseHash === null || leaseUntil === null) return false;
    const lease = { id, leaseHash, leaseUntil };
    const done = await store.run(expireLease, { lease, isStuck: true, consoleUrl: events.consoleUrl() });
    if (done) announceDecided(events, done, "requeued");
    return done !== null;
  }

  /** The task that holds the pipeline now, or why it does not. */
  async function report(
    held: HeldLease,
    { pipeline }: PipelineRequest,
  ): Promise<{ task: Task | null } | { faults: FieldFault[] }> {
    try {
      const done = await store.run(reportPipeline, { held, pipeline, anyDomain });
      return done !== null && done.faults.length > 0 ? { faults: done.faults } : { task: done?.task ?? null };
    } catch (error) {
      if (!(error instanceof Fault && error.code === "invalid" && error.fields)) throw error;
      return { faults: error.fields.map(({ field, message }) => ({ path: pathInFile(field), message })) };
    }
  }

  return {
    async beat(runner: Runner, request: BeatRequest, signal: AbortSignal): Promise<HeldAnswer> {
      // An immediate answer would cause the next heartbeat at once, over a connection that is still open.
      if (released.signal.aborted)
        throw new Fault("unavailable", "The server is stopping; ask again soon.", { retryAfterSeconds: 1 });
      const isOver = AbortSignal.any([signal, released.signal]);
      const endsAt = performance.now() + request.waitMs;
      await noteSeen(store, runner);
      let task = await store.run(renewLease, leaseOf(runner, request));
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

    async log(runner: Runner, request: LogRequest): Promise<HeldAnswer> {
      const { from, lines } = request;
      const logged = await store.run(appendLog, {
        held: leaseOf(runner, request),
        lines: lines.map(({ step = null, at, ...line }, offset) => ({
          ...{ ...line, step },
          index: from + offset,
          at: new Date(at),
        })),
        end: from + lines.length,
        logMaxBytes: limits.logMaxBytes,
      });
      if (!logged) return leaseLost;
      if (logged.fresh.length > 0) events.logged(logged.task, logged.fresh);
      return { ...(await answerFor(logged.task)), ack: logged.ack };
    },

    async stage(runner: Runner, request: StageRequest): Promise<HeldAnswer> {
      const { taskId: _taskId, attempt: _attempt, lease: _lease, ...report } = request;
      const done = await store.run(reportStage, {
        held: leaseOf(runner, request),
        request: report,
        consoleUrl: events.consoleUrl(),
      });
      if (!done) return leaseLost;
      events[done.event](done.task);
      events.send(done.calls);
      return answerFor(done.task);
    },

    async pipeline(runner: Runner, request: PipelineRequest): Promise<HeldAnswer> {
      const held = leaseOf(runner, request);
      const done = await report(held, request);
      if ("faults" in done) return { continue: true, faults: done.faults.map(faultJson) };
      const { task } = done;
      if (task === null) return leaseLost;
      const answer = await answerFor(task);
      if (!answer.continue) return answer;
      const run = await runOfFile(task, { keepers: store, limits, now: store.now() });
      if (!run) return leaseLost;
      events.changed(task);
      return { ...answer, run };
    },

    async finish(runner: Runner, request: FinishRequest): Promise<HeldAnswer> {
      const { state, kept, images, isWorkspaceLost = false } = request;
      const done = await store.run(finishTask, {
        held: leaseOf(runner, request),
        ...{ state, reason: reasonOf(request), kept, images, isWorkspaceLost },
        consoleUrl: events.consoleUrl(),
      });
      if (!done) return leaseLost;
      for (const decided of [done, ...done.superseded]) announceDecided(events, decided);
      return { continue: false };
    },

    async rollback(runner: Runner, request: RollbackRequest): Promise<HeldAnswer> {
      const { toTaskId, state, isProven } = request;
      const reason = reasonOf(request);
      const held = leaseOf(runner, request);
      const done = await store.run(reportRollback, { held, request: { toTaskId, state, reason, isProven } });
      if (!done) return leaseLost;
      events.changed(done);
      return { continue: true };
    },
    /** Answers waiting heartbeats and refuses new ones, because the server is about to close. */
    release: () => released.abort(),
  };
}
function faultJson({ path, message }: FieldFault): NonNullable<HeldAnswer["faults"]>[number] {
  return { path, ...reasonJson({ reason: message }) };
}

export type HeldCalls = ReturnType<typeof buildHeldCalls>;
