import { buildBackoff, type Clock, pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { mapTexts, type Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import type { TaskGuard } from "../process/lifeline.ts";
import type { KillAt } from "../process/process-tree.ts";
import {
  beatWaitMaxMs,
  type FinishRequest,
  type HeldAnswer,
  type LogRequest,
  lostGraceMs,
  type PipelineRequest,
  type RollbackRequest,
  type RunTask,
  runnerPaths,
  type StageRequest,
} from "../protocol.ts";
import type { ServerClient } from "./server-client.ts";

export type StopWhy = NonNullable<HeldAnswer["why"]> | "runner_stopped";

/** The fields that each call adds to taskId, attempt and lease. */
type Said<T> = Omit<T, "taskId" | "attempt" | "lease">;
type Reasoned<T> = Omit<Said<T>, "reason" | "reasonParts"> & { reason: Reason };

/** One attempt that this runner holds: renews its lease; every response says whether to continue. */
export interface HeldTask {
  /** Aborted, with a StopWhy as reason, when the work must end. */
  readonly stopped: AbortSignal;
  /** Aborted when the runner no longer holds the task. A cancel or a timeout does not abort it. */
  readonly lost: AbortSignal;
  why(): StopWhy | null;
  stop(why: StopWhy): void;
  /** Whether work may begin: a runner that was suspended for too long drops the task instead. */
  isCertain(): boolean;
  /** The response, however long the server was unreachable; null: the runner no longer holds the task. */
  log(said: Said<LogRequest>): Promise<HeldAnswer | null>;
  stage(said: Said<StageRequest>): Promise<HeldAnswer | null>;
  pipeline(said: Said<PipelineRequest>): Promise<HeldAnswer | null>;
  finish(said: Reasoned<FinishRequest>): Promise<HeldAnswer | null>;
  rollback(said: Reasoned<RollbackRequest>): Promise<HeldAnswer | null>;
  /** When processes that received SIGTERM are killed: sooner if the runner no longer holds the task. */
  readonly killAt: KillAt;
  /**
   * No process is left, so calls may now wait much longer for the server. The lease is still renewed, because removing
   * a workspace and sending a log take time.
   */
  settle(): void;
  close(): void;
}

const callTimeoutMs = 10_000;
/** How long a result waits for an unreachable server. */
const settledPatienceMs = 30 * 60_000;

export interface HoldTaskParts {
  client: ServerClient;
  /** A monotonic clock: changes of the system clock must not affect the lease. */
  clock: Clock;
  log: Logger;
  guard: Pick<TaskGuard, "renewed" | "ending">;
}

export function holdTask(instruction: RunTask, { client, clock, log, guard }: HoldTaskParts): HeldTask {
  const { taskId, attempt, lease, limits } = instruction;
  const stopping = new AbortController();
  const losing = new AbortController();
  const closing = new AbortController();
  const backoff = buildBackoff(100, Math.min(5000, limits.beatEveryMs));
  let provenAt = clock.now();
  let isSettled = false;
  let isOurs = true;
  let lostAt = Number.POSITIVE_INFINITY;

  function stop(why: StopWhy): void {
    if (isOurs && (why === "lease_lost" || why === "runner_stopped")) {
      isOurs = false;
      lostAt = clock.now();
      guard.ending();
      losing.abort(why);
    }
    if (!stopping.signal.aborted) stopping.abort(why);
  }

  /**
   * Checked before a late response is used: the guard process has ended the scripts by then, so a response that arrived
   * while the runner was suspended must not continue the task.
   */
  function isCertain(): boolean {
    if (!isOurs) return false;
    const silentMs = clock.now() - provenAt;
    if (isSettled || silentMs < limits.giveUpAfterMs) return true;
    log.error(
      { taskId, attempt, silentSeconds: Math.round(silentMs / 1000) },
      "the lease could not be renewed for too long, because the server was unavailable or this runner was suspended; ending the task's processes",
    );
    stop("lease_lost");
    return false;
  }

  async function once(path: string, said: object, timeoutMs: number): Promise<HeldAnswer> {
    const sentAt = clock.now();
    const answer = await client.held(path, { taskId, attempt, lease, ...said }, timeoutMs);
    backoff.reset();
    if (!isCertain()) return { continue: false, why: "lease_lost" };
    provenAt = Math.max(provenAt, sentAt);
    guard.renewed(provenAt);
    if (!answer.continue) stop(answer.why ?? "lease_lost");
    return answer;
  }

  async function call(path: string, said: object): Promise<HeldAnswer | null> {
    while (isOurs && !closing.signal.aborted) {
      try {
        const answer = await once(path, said, callTimeoutMs);
        return answer.why === "lease_lost" ? null : answer;
      } catch (error) {
        log.warn({ taskId, path, error: messageOf(error) }, "the server did not take a call; trying again");
        if (isSettled && clock.now() - provenAt > settledPatienceMs) return null;
        await pause(backoff.nextMs(), closing.signal);
      }
    }
    return null;
  }

  async function beat(): Promise<void> {
    const waitMs = Math.min(beatWaitMaxMs, Math.round((limits.beatEveryMs * 2) / 3));
    while (isOurs && !closing.signal.aborted) {
      try {
        const answer = await once(runnerPaths.beat, { waitMs }, waitMs + callTimeoutMs);
        // Canceled: from now on the server answers at once, and only the lease must be renewed.
        if (!answer.continue) await pause(waitMs, closing.signal);
      } catch (error) {
        log.warn({ taskId, error: messageOf(error) }, "the lease could not be renewed; trying again");
        await pause(backoff.nextMs(), closing.signal);
      }
    }
  }

  const watch = setInterval(isCertain, Math.max(50, limits.giveUpAfterMs / 45));
  void beat();

  return {
    stopped: stopping.signal,
    lost: losing.signal,
    why: () => (stopping.signal.aborted ? (stopping.signal.reason as StopWhy) : null),
    stop,
    isCertain,
    killAt: (termedAt) => Math.min(termedAt + limits.stopGraceMs, lostAt + lostGraceMs(limits)),
    log: (said) => call(runnerPaths.log, said),
    stage: (said) => call(runnerPaths.stage, said),
    pipeline: (said) => call(runnerPaths.pipeline, said),
    finish: (said) => call(runnerPaths.finish, told(said)),
    rollback: (said) => call(runnerPaths.rollback, told(said)),
    settle() {
      isSettled = true;
    },
    close() {
      clearInterval(watch);
      closing.abort();
    },
  };
}

/** The server refuses longer texts. */
const maxReasonLength = 2000;

/** With the text for servers of earlier versions. */
function told({ reason, ...said }: { reason: Reason }): object {
  const cut = mapTexts(reason, (text) => text.slice(0, maxReasonLength));
  const { reason: text, reasonParts } = reasonJson({ reason: cut });
  return { ...said, reason: text.slice(0, maxReasonLength), reasonParts };
}
