import type { Clock } from "../../clock.ts";
import { Fault, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { DeliverySummary, NormalizedEvent } from "../../model/delivery.ts";
import type { Store } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import type { TaskAnnouncer } from "../../task/events/task-announcer.ts";
import { isNews } from "../../task/notify/delivery-news.ts";
import type { WaitOf } from "../../task/view/wait-cache.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { traceFields } from "../../telemetry/trace-context.ts";
import type { Hook } from "../hook/hooks.ts";
import {
  acceptDelivery,
  type DecisionSettings,
  decide,
  filtered,
  placeOf,
  stateOf,
} from "./decide-delivery.ts";
import { type FilteredDelivery, newDelivery, type PendingDelivery } from "./delivery.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import { deliverySpan } from "./delivery-span.ts";
import { type Answer, answerOf, type Outcome, taskFieldsOf } from "./outcome.ts";
import { buildQueuePositions } from "./queue-position.ts";
import { maxSharedLimit } from "./rate.ts";
import { type RecordedDelivery, recordOf, recordRefusal, summaryOf, withReplacedBy } from "./record.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";

/** How a live delivery arrived. */
export interface LiveDelivery {
  /** The configuration by which it was verified and read. */
  readBy: WebhookConfig;
  /** Part of the longest wait for the lock that is used up. */
  waitedMs: number;
  /** Refuses it when its key or project is gone: a deleted key is answered like a key that never existed. */
  refuseUnknown(): Promise<Answer>;
}

/** The decision without record and task. */
export interface Preview {
  /** Of a push with several refs, the event of the chosen one. */
  event: NormalizedEvent;
  outcome: Outcome;
  trace: FilteredDelivery["trace"];
}

export interface Decider {
  /**
   * Decides under the project's lock, by the webhook as it is stored then, records, and notifies when the record is on disk.
   * Never throws. `live` is missing for a delivery that was not verified by the webhook.
   */
  decide(delivery: PendingDelivery, live?: LiveDelivery): Promise<Answer>;
  preview(hook: Hook, event: NormalizedEvent, kind: DeliveryKind): Promise<Preview>;
  /** Records a delivery that was refused before it could be decided. Never throws. */
  refuse(delivery: PendingDelivery, outcome: Outcome): Promise<Answer>;
  fail(delivery: PendingDelivery, error: unknown): Promise<Answer>;
}

export interface DeciderOptions {
  store: Store;
  clock: Clock;
  log: Logger;
  metrics: WebhookMetrics;
  telemetry: Telemetry;
  /** Longest wait for the project's lock. */
  lockWaitMs: number;
  limitPerMinute: number;
  /** webhook.debounceSeconds */
  debounceSeconds: number;
  /** Whether repositories are polled: otherwise the tips of refs are not needed. */
  keepsTips: boolean;
  announcer: TaskAnnouncer;
  waitOf: WaitOf;
  onDelivery: (summary: DeliverySummary) => void;
}

export const lockWaitMs = 5_000;

/** Decides about deliveries: the steps that all kinds of them go through, from the filters to the record. */
export function buildDecider(options: DeciderOptions): Decider {
  const { store, clock, log, metrics, telemetry, announcer, onDelivery, limitPerMinute } = options;
  const settings: DecisionSettings = {
    debounceSeconds: options.debounceSeconds,
    sharedPerMinute: store.isShared && limitPerMinute <= maxSharedLimit ? limitPerMinute : null,
    keepsTips: options.keepsTips,
  };
  const places = buildQueuePositions();
  const isDebug = log.isLevelEnabled("debug");

  async function accept(delivery: PendingDelivery, live: LiveDelivery | null): Promise<Answer> {
    const { projectId, kind } = delivery;
    const lock = { name: `webhook ${projectId}`, waitMs: options.lockWaitMs - (live?.waitedMs ?? 0) };
    const input = {
      delivery,
      readBy: live?.readBy ?? null,
      settings,
      countsPlace: kind.task && places.mustCount(projectId),
      consoleUrl: announcer.consoleUrl(),
    };
    const accepted = lock.waitMs > 0 ? await store.run(acceptDelivery, input, lock) : "timeout";
    if (accepted === "timeout") return refuse(delivery, lockTimeout(options.lockWaitMs));
    if (accepted === "overtaken") return ended(delivery, answerOf(overtaken, 0));
    if (accepted === "gone") return gone(delivery, live);
    return ended(delivery, await answerTo(accepted, delivery));
  }

  function gone(delivery: PendingDelivery, live: LiveDelivery | null): Promise<Answer> {
    return live === null ? refuse(delivery, endpointGone) : live.refuseUnknown();
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
    const { id, record, enqueued, moved, calls, replacedBy = null, project } = recorded;
    const environment = project?.environment?.name ?? "";
    metrics.recorded(record.code);
    if (isDebug) {
      const about = { deliveryId: id, projectId: record.project_id, outcome: record.code };
      log.debug({ ...about, ...traceFields(traceparent) }, "a delivery was recorded");
    }
    if (enqueued && project) announcer.enqueued({ ...enqueued, project });
    if (moved) announcer.moved(moved);
    announcer.send(calls);
    onDelivery(withReplacedBy({ ...record, id, repeat_of: null, replaced_by: replacedBy, environment }));
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
    async decide(pending, live) {
      const startedAtMs = performance.now();
      const delivery = traced(pending);
      const span = telemetry.start(delivery.traceparent, "decision", "internal");
      try {
        return await accept(delivery, live ?? null).catch((error: unknown) => {
          if (!isProjectGone(error)) throw error;
          return gone(delivery, live ?? null);
        });
      } catch (error) {
        return fail(delivery, error);
      } finally {
        metrics.decided((performance.now() - startedAtMs) / 1000);
        span?.end();
      }
    },
    async preview({ config, project }, event, kind) {
      const now = new Date(clock.now());
      const pending = newDelivery(kind, now, { event, projectId: project.id });
      const delivery = filtered(pending, config, project, settings);
      const state = await stateOf(store, delivery, await placeOf(store, delivery, project), false, now);
      const { outcome } = await decide(store, delivery, state, settings, now);
      return { event: delivery.event ?? event, outcome, trace: delivery.trace };
    },
    refuse,
    fail,
  };
}

/** The project was deleted while its delivery waited. */
function isProjectGone(error: unknown): boolean {
  return error instanceof Fault && error.code === "not_found";
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
