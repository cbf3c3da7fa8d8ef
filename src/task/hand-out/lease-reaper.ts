import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../model/store.ts";
import type { Lease, Task } from "../../model/task.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { endStages, hasSideEffects, resetStages } from "../queue/stages.ts";
import { appendSystemLine } from "../queue/system-line.ts";
import { buildSilenceWatch } from "./silence-watch.ts";

/** Decides about tasks whose runner has been silent for a whole lease. */
export interface LeaseReaper {
  /** Gives every lease one full term: runners could not renew before the server started. */
  start(): void;
  reap(): Promise<void>;
  stop(): void;
}

export interface LeaseReaperParts {
  store: Store;
  events: TaskEvents;
  leaseMs: number;
  clock: Pick<Clock, "elapsed">;
  log: Log;
}

/** The first attempt, and once more. */
const maxAttempts = 2;

/**
 * A lease expires when it was not renewed for its whole term while this process watched. Only elapsed time counts: the
 * stored end of a lease is compared with its earlier value, never with a clock.
 */
export function buildLeaseReaper({ store, events, leaseMs, clock, log }: LeaseReaperParts): LeaseReaper {
  const watch = buildSilenceWatch(clock.elapsed);
  /** A longer break means that this server hung or lost its database, so that no runner could renew. */
  const maxBreakMs = Math.max(1_000, leaseMs / 2);
  let lookedAtMs = clock.elapsed();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  async function decide({ id, leaseHash, leaseUntil }: Lease): Promise<void> {
    const now = await store.now();
    const task = await store.tasks.byId(id);
    if (task === null) return;
    const done = await store.transaction(async (keepers) => {
      const changed = await keepers.tasks.change(task.id, {
        whileIn: [task.state],
        leaseHash,
        leaseUntil,
        set: { leaseHash: null, leaseUntil: null, ...verdict(task, now) },
      });
      return changed && { task: changed, line: await appendSystemLine(keepers, changed, now) };
    });
    if (!done) return;
    const { task: decided, line } = done;
    events.logged(decided, [line]);
    log.warn({ taskId: task.id, attempt: task.attempt, state: decided.state }, "a runner lost its lease");
    if (decided.state === "queued") events.requeued(decided);
    else events.finished(decided);
  }

  async function reap(): Promise<void> {
    const leases = await store.tasks.leases();
    const nowMs = clock.elapsed();
    watch.keepOnly(nowMs - lookedAtMs > maxBreakMs ? [] : leases.map(({ id }) => id));
    lookedAtMs = nowMs;
    const ended = leases.filter(
      ({ id, leaseHash, leaseUntil }) =>
        watch.unchangedMs(id, `${leaseHash} ${leaseUntil.getTime()}`) > leaseMs,
    );
    for (const lease of ended) await decide(lease);
  }

  function again(): void {
    if (isStopped) return;
    timer = setTimeout(
      () =>
        reap()
          .catch((error: unknown) => log.error({ error: messageOf(error) }, "leases could not be looked at"))
          .finally(again),
      Math.max(50, leaseMs / 12),
    );
  }

  return {
    start: again,
    reap,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Before deploy: once more. After: nobody knows what happened, and a second deploy could make it worse. */
function verdict(task: Task, now: Date): Partial<Task> & { reason: string } {
  const isTouched = hasSideEffects(task.stages);
  if (task.state === "canceling" && !isTouched)
    return {
      state: "canceled",
      reason: task.reason || "canceled",
      stages: endStages(task.stages, "canceled", now),
      finishedAt: now,
    };
  if (!isTouched && task.attempt < maxAttempts)
    return {
      state: "queued",
      reason: "The runner vanished before deploy began; the task was queued once more.",
      stages: resetStages(task.stages),
      runnerId: null,
      startedAt: null,
    };
  const during = task.stages.find((stage) => stage.state === "running")?.name ?? "the task";
  return {
    state: "lost",
    reason: isTouched
      ? `The runner vanished during ${during}. How far it came is not known, so it is not run again by itself.`
      : "The runner vanished a second time; the task is not run again by itself.",
    stages: endStages(task.stages, "lost", now),
    finishedAt: now,
  };
}
