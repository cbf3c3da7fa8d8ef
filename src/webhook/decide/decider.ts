import type { Clock } from "../../clock.ts";
import { Fault, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { DeliverySummary, NormalizedEvent } from "../../model/delivery.ts";
import type { Store } from "../../model/store.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { isNews } from "../../task/notify/delivery-news.ts";
import type { TaskAnnouncer } from "../../task/queue/enqueue.ts";
import { buildQueuePlaces } from "../../task/queue/queue-places.ts";
import type { WaitOf } from "../../task/queue/recent-wait.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { traceFields } from "../../telemetry/trace-context.ts";
import type { Hook, HookDirectory } from "../hook/hook-directory.ts";
import { acceptDelivery, decide, stateQuery } from "./decide-delivery.ts";
import { type FilteredDelivery, newDelivery, type PendingDelivery, type Trace, traceOn } from "./delivery.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import { deliverySpan } from "./delivery-span.ts";
import { applyFilters, type Filtered } from "./filters.ts";
import { type Answer, answerOf, type Outcome, taskFieldsOf } from "./outcome.ts";
import { bucketOf, maxSharedLimit, type SharedLimit } from "./rate.ts";
import { type RecordedDelivery, recordOf, recordRefusal, summaryOf, withReplacedBy } from "./record.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";

/**
 * Reads a delivery again after its hook has changed, or refuses it. Null: the hook is gone; a deleted key is answered
 * like a key that never existed.
 */
export type ReadAgain = (hook: Hook | null) => PendingDelivery | Promise<Answer>;

/** The decision without record and task. */
export interface Preview {
  /** Of a push with several refs, the event of the chosen one. */
  event: NormalizedEvent;
  outcome: Outcome;
  trace: FilteredDelivery["trace"];
}

export interface Decider {
  /**
   * Decides under the project's lock, records, and notifies when the record is on disk. Never throws. Without `readAgain`,
   * the delivery does not depend on the hook.
   */
  decide(hook: Hook, delivery: PendingDelivery, readAgain?: ReadAgain): Promise<Answer>;
  preview(hook: Hook, event: NormalizedEvent, kind: DeliveryKind): Promise<Preview>;
  /** Records a delivery that was refused before it could be decided. Never throws. */
  refuse(delivery: PendingDelivery, outcome: Outcome): Promise<Answer>;
  fail(delivery: PendingDelivery, error: unknown): Promise<Answer>;
}

export interface DeciderOptions {
  store: Store;
  hooks: HookDirectory;
  clock: Clock;
  log: Logger;
  metrics: WebhookMetrics;
  telemetry: Telemetry;
  /** Longest wait for the project's lock. */
  lockWaitMs: number;
  limitPerMinute: number;
  /** Whether repositories are polled: otherwise the tips of refs are not needed. */
  keepsTips: boolean;
  announcer: TaskAnnouncer;
  waitOf: WaitOf;
  onDelivery: (summary: DeliverySummary) => void;
}

export const lockWaitMs = 5_000;
/** A delivery is decided again if its hook was changed meanwhile. */
const maxAttempts = 3;

/** Decides about deliveries: the steps that all kinds of them go through, from the filters to the record. */
export function buildDecider(options: DeciderOptions): Decider {
  const { store, hooks, clock, log, metrics, telemetry, announcer, onDelivery, limitPerMinute } = options;
  const places = buildQueuePlaces();
  const isDebug = log.isLevelEnabled("debug");

  async function accept(firstHook: Hook, first: PendingDelivery, readAgain: ReadAgain): Promise<Answer> {
    let [hook, delivery] = [firstHook, first];
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const { projectId, kind } = delivery;
      if (kind.enabled && !hook.config.enabled) return refuse(delivery, notEnabled(traceOn(delivery.trace)));
      const lock = { name: `webhook ${projectId}`, waitMs: options.lockWaitMs };
      const input = {
        delivery: filtered(hook, delivery),
        sharedLimit: sharedLimitOf(hook, delivery),
        countsPlace: kind.task && places.mustCount(projectId),
        consoleUrl: announcer.consoleUrl(),
      };
      const accepted = await store.run(acceptDelivery, input, lock);
      if (accepted === "timeout") return refuse(delivery, lockTimeout(options.lockWaitMs));
      if (accepted === "overtaken") return ended(delivery, answerOf(overtaken, 0));
      if (accepted !== "changed") return ended(delivery, await answerTo(accepted, delivery));
      const current = await hooks.current(hook);
      const again = readAgain(current);
      if (again instanceof Promise || current === null) return again as Promise<Answer>;
      [hook, delivery] = [current, again];
    }
    throw new Fault("unavailable", `The webhook of project ${first.projectId} changes too fast to decide.`);
  }

  /** Filters depend on the hook only, so they need no lock. */
  function filtered(hook: Hook, delivery: PendingDelivery): FilteredDelivery {
    const { event, kind, problem } = delivery;
    const result = event === null ? unreadable(problem) : applyFilters(event, hook.rules, kind);
    const keepsTip = options.keepsTips && hook.project.git.url !== "";
    return { ...delivery, ...result, config: hook.config, keepsTip };
  }

  function sharedLimitOf({ rules }: Hook, { kind, event }: PendingDelivery): SharedLimit | null {
    const isCounted = store.isShared && kind.rate && limitPerMinute <= maxSharedLimit;
    return isCounted ? { bucket: bucketOf(event, rules), perMinute: limitPerMinute } : null;
  }

  async function answerTo(accepted: RecordedDelivery, { traceparent }: PendingDelivery): Promise<Answer> {
    const { id, outcome, record, enqueued, place = null } = accepted;
    notify(accepted, traceparent);
    const mergedIntoTaskId = record.merged_into_task_id;
    if (mergedIntoTaskId !== null) return answerOf(outcome, id, { mergedIntoTaskId });
    if (!enqueued) return answerOf(outcome, id);
    // The task is on disk, whatever the result of this query is.
    const { task } = enqueued;
    const wait = await options.waitOf(task.projectId).catch(() => null);
    return answerOf(outcome, id, taskFieldsOf(task, places.placeOf(task.projectId, place), wait));
  }

  function notify(recorded: RecordedDelivery, traceparent: string | null): void {
    const { id, record, enqueued, moved, calls, replacedBy = null } = recorded;
    metrics.recorded(record.code);
    if (isDebug) {
      const about = { deliveryId: id, projectId: record.project_id, outcome: record.code };
      log.debug({ ...about, ...traceFields(traceparent) }, "a delivery was recorded");
    }
    const project = { id: record.project_id, name: record.project_name };
    if (enqueued) announcer.enqueued({ ...enqueued, project });
    if (moved) announcer.moved(moved);
    announcer.send(calls);
    onDelivery(withReplacedBy({ ...record, id, repeat_of: null, replaced_by: replacedBy }));
  }

  /** Records the span of a delivery that has its answer. */
  function ended(delivery: PendingDelivery, answer: Answer): Answer {
    const span = telemetry.isOn ? deliverySpan(delivery, answer, Date.now()) : null;
    if (span) telemetry.record(span);
    return answer;
  }

  async function refuse(given: PendingDelivery, outcome: Outcome): Promise<Answer> {
    const delivery = traced(given);
    const { traceparent } = delivery;
    try {
      const record = recordOf(delivery, outcome, delivery.arrivedAt);
      const consoleUrl = announcer.consoleUrl();
      const { id, calls } = isNews(record)
        ? await store.run(recordRefusal, { record, traceparent, consoleUrl })
        : { id: await store.deliveries.create(record), calls: [] };
      notify({ id, record: summaryOf(record), outcome, calls }, traceparent);
      return ended(delivery, answerOf(outcome, id));
    } catch (error) {
      log.error(
        {
          error: messageOf(error),
          outcome: outcome.code,
          projectId: delivery.projectId,
          ...traceFields(traceparent),
        },
        "a delivery could not be recorded",
      );
      metrics.recorded("internal_error");
      return ended(delivery, answerOf({ code: "internal_error", reason: newReason("not_recorded") }, 0));
    }
  }

  /** Tests, replays and polls begin their trace here. */
  function traced(delivery: PendingDelivery): PendingDelivery {
    if (!telemetry.isOn || delivery.traceparent !== null) return delivery;
    return { ...delivery, traceparent: telemetry.newTrace() };
  }

  /** After a rollback, the failure gets its own record. */
  async function fail(delivery: PendingDelivery, error: unknown): Promise<Answer> {
    const { projectId, traceparent } = delivery;
    log.error({ error: messageOf(error), projectId, ...traceFields(traceparent) }, "a delivery failed");
    const reason = error instanceof Fault ? error.reason : newReason("unexpected_error");
    return refuse(delivery, { code: "internal_error", reason, told: "The delivery could not be handled." });
  }

  return {
    async decide(hook, pending, given) {
      const startedAtMs = performance.now();
      const delivery = traced(pending);
      const span = telemetry.start(delivery.traceparent, "decision", "internal");
      const readAgain = given ?? ((current) => (current ? delivery : refuse(delivery, endpointGone)));
      try {
        return await accept(hook, delivery, readAgain).catch((error: unknown) => {
          if (!isProjectGone(error)) throw error;
          return readAgain(null) as Promise<Answer>;
        });
      } catch (error) {
        return fail(delivery, error);
      } finally {
        metrics.decided((performance.now() - startedAtMs) / 1000);
        span?.end();
      }
    },
    async preview(hook, event, kind) {
      const now = new Date(clock.now());
      const delivery = filtered(hook, newDelivery(kind, now, { event }));
      const input = { delivery, sharedLimit: null, countsPlace: false };
      const state = await store.deliveries.projectState(stateQuery(input, now));
      if (state === null) throw new Fault("not_found", newReason("project_gone"));
      const { outcome } = await decide(store, input, state, now);
      return { event: delivery.event ?? event, outcome, trace: delivery.trace };
    },
    refuse,
    fail,
  };
}

function unreadable(problem: Reason): Omit<Filtered, "event"> {
  const trace = traceOn([]);
  trace.add("payload", "stop", "", "a JSON object", problem);
  return { stoppedBy: { code: "invalid_payload", reason: problem }, aside: "", filterTrace: trace.steps };
}

/** The project was deleted while its delivery waited. */
function isProjectGone(error: unknown): boolean {
  return error instanceof Fault && error.code === "not_found";
}

export function notEnabled(trace: Trace): Outcome {
  const reason = newReason("not_enabled");
  trace.add("enabled", "stop", "", "", reason);
  return { code: "webhook_disabled", reason };
}

const endpointGone: Outcome = {
  code: "endpoint_not_found",
  reason: newReason("endpoint_gone"),
};

/** No record: the delivery that handled the ref has one. */
const overtaken: Outcome = {
  code: "duplicate",
  reason: newReason("overtaken"),
};

function lockTimeout(waitMs: number): Outcome {
  const seconds = Math.ceil(waitMs / 1000);
  return {
    code: "lock_timeout",
    reason: newReason("lock_timeout", { seconds }),
    retryAfterSeconds: seconds,
  };
}
