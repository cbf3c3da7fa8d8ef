import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Store } from "../../model/store.ts";
import type { Lease } from "../../model/task.ts";
import { announceDecided } from "../events/announce-decided.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { expireLease } from "../queue.ts";
import { taskTraceFields } from "../view/task-trace.ts";
import { buildSilenceWatch } from "./silence-watch.ts";

export interface LeaseReaperParts {
  store: Store;
  events: TaskEvents;
  leaseMs: number;
  clock: Pick<Clock, "elapsed">;
  log: Logger;
}

/**
 * Decides about tasks whose runner did not call for a whole lease. A lease expires if it was not renewed for its whole
 * term while this process watched. Only elapsed time counts: the stored end of a lease is compared with its earlier
 * value, never with a clock.
 */
export function buildLeaseReaper({ store, events, leaseMs, clock, log }: LeaseReaperParts) {
  const watch = buildSilenceWatch(clock.elapsed);
  /** A longer break means that this server was suspended or lost its database, so that no runner could renew. */
  const maxBreakMs = Math.max(1_000, leaseMs / 2);
  let lookedAtMs = clock.elapsed();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  async function decide(lease: Lease): Promise<void> {
    const done = await store.run(expireLease, { lease, consoleUrl: events.consoleUrl() });
    if (!done) return;
    const { id, attempt, state } = done.task;
    log.warn({ taskId: id, attempt, state, ...taskTraceFields(done.task) }, "a runner lost its lease");
    announceDecided(events, done, "requeued");
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
    // An error with one lease must not stop the decision about the others.
    for (const lease of ended)
      await decide(lease).catch((error: unknown) =>
        log.error({ taskId: lease.id, error: messageOf(error) }, "a lost lease could not be decided"),
      );
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
    /** Gives every lease one full term: runners could not renew before the server started. */
    start: again,
    reap,
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
