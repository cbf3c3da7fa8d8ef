import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Runner } from "../../model/runner.ts";
import type { Store } from "../../model/store.ts";
import { isFinished, type Task } from "../../model/task.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import type {
  BeatRequest,
  FinishRequest,
  Held,
  HeldAnswer,
  LogRequest,
  RollbackRequest,
  StageRequest,
} from "../../runner/protocol.ts";
import { hashToken } from "../../secrets.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { taskTopic, type Wakeups } from "../events/wakeups.ts";
import { appendLog } from "./append-log.ts";
import { allowedMs, givenUpAfterMs, progressOf } from "./deadline.ts";
import { endLease, reportLostLease } from "./end-lease.ts";
import { finishTask } from "./finish-task.ts";
import type { TaskLimits } from "./instruction.ts";
import { type HeldLease, mustStop, renewLease } from "./lease.ts";
import { reportRollback } from "./report-release.ts";
import { reportStage } from "./report-stage.ts";
import { noteSeen } from "./runner-seen.ts";
import { buildSilenceWatch } from "./silence-watch.ts";

export interface HeldCallsParts {
  store: Store;
  events: TaskEvents;
  wakeups: Wakeups;
  limits: TaskLimits;
  clock: Pick<Clock, "elapsed">;
}

const leaseLost: HeldAnswer = { continue: false, why: "lease_lost" };
/** A cancel by another instance is detected by reading this often. */
const lookEveryMs = 1000;

/** The calls of a runner about a task it holds. All are idempotent, renew the lease, and return whether to continue. */
export function buildHeldCalls({ store, events, wakeups, limits, clock }: HeldCallsParts) {
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
    const done = await store.run(endLease, { lease, isStuck: true, consoleUrl: events.consoleUrl() });
    if (done) reportLostLease(events, done);
    return done !== null;
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

    async finish(runner: Runner, request: FinishRequest): Promise<HeldAnswer> {
      const { state, kept, images, isWorkspaceLost = false } = request;
      const reason = reasonOf(request);
      const held = leaseOf(runner, request);
      const consoleUrl = events.consoleUrl();
      const done = await store.run(finishTask, {
        held,
        state,
        reason,
        kept,
        images,
        isWorkspaceLost,
        consoleUrl,
      });
      if (!done) return leaseLost;
      const { task, line, superseded, calls } = done;
      if (line) events.logged(task, [line]);
      if (task.state === "waiting") events.waiting(task);
      else if (task.state === "queued") events.changed(task);
      else events.finished(task);
      events.send(calls);
      for (const older of superseded) {
        events.logged(older.task, [older.line]);
        events.finished(older.task);
        events.send(older.calls);
      }
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
export type HeldCalls = ReturnType<typeof buildHeldCalls>;
