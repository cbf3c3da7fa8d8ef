import type { Clock } from "../clock.ts";
import { Fault, messageOf as textOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DeliverySummary, NormalizedEvent } from "../model/delivery.ts";
import type { Keepers, Store } from "../model/store.ts";
import type { TaskAnnouncer } from "../task/queue.ts";
import { filter } from "./filters.ts";
import type { Hook, HookDirectory } from "./hook-directory.ts";
import { type Answer, answerOf, type DeliveryAnswer, type Outcome } from "./outcome.ts";
import { overSharedRate } from "./project-rate.ts";
import { buildQueuePlaces } from "./queue-places.ts";
import { type Known, type NewDelivery, recordOf, summaryOf } from "./record.ts";
import { chooseRef } from "./ref-choice.ts";
import { type Decision, debounce, enqueue, giveWay, type InHand, messageOf } from "./task-steps.ts";
import type { Trace } from "./trace.ts";
import type { WayIn } from "./ways-in.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";

/** A delivery that may be decided: located, read, verified as far as its way in asks for it. */
export interface Arrived {
  way: WayIn;
  hook: Hook;
  event: NormalizedEvent;
  trace: Trace;
  known: Known;
  /** Whether the signature fits this hook too; asked when the configuration has changed since it was verified. */
  isVerifiedBy?: (hook: Hook) => boolean;
}

/** A decision, and the event that it is about: of a push that names several refs, the one that was chosen. */
export interface Judged {
  event: NormalizedEvent;
  decision: Decision;
}

export interface Pipeline {
  /** Decides under the project's lock, records, and tells the others once that is on disk. Never throws. */
  decide(arrived: Arrived): Promise<Answer>;
  /** The decision alone: no record, no task. */
  preview(hook: Hook, event: NormalizedEvent, way: WayIn, trace: Trace): Promise<Judged>;
  /** Records a delivery that was refused before it could be decided. Never throws. */
  refuse(known: Known, outcome: Outcome): Promise<Answer>;
  fail(known: Known, error: unknown): Promise<Answer>;
}

export interface PipelineOptions {
  store: Store;
  hooks: HookDirectory;
  clock: Clock;
  log: Log;
  metrics: WebhookMetrics;
  /** Longest wait for the project's lock. */
  lockWaitMs: number;
  limitPerMinute: number;
  announcer: TaskAnnouncer;
  onDelivery: (summary: DeliverySummary) => void;
}

export const lockWaitMs = 5_000;

export function buildPipeline(options: PipelineOptions): Pipeline {
  const { store, hooks, clock, log, metrics, announcer, onDelivery } = options;

  const placeOf = buildQueuePlaces();

  /** The decision, in the order of the seed. */
  async function judge(keepers: Keepers, arrived: InHand): Promise<Judged> {
    const { event, aside } = chooseRef(arrived.event, arrived.hook.rules, arrived.way, arrived.trace);
    const decision = await decideOn(keepers, { ...arrived, event });
    return { event, decision: aside === "" ? decision : withAside(decision, aside) };
  }

  async function decideOn(keepers: Keepers, hand: InHand): Promise<Decision> {
    const filtered = filter(hand.event, hand.hook.rules, hand.way, hand.trace);
    if (filtered) return { outcome: filtered };
    return (
      (await debounce(keepers, hand)) ??
      (await giveWay(keepers, hand)) ??
      (await enqueue(keepers, hand, placeOf))
    );
  }

  /** Key, switch and secret may have changed while the delivery waited for the lock, or on another instance. */
  async function recheck(keepers: Keepers, { hook, way, isVerifiedBy }: Arrived): Promise<Hook | Outcome> {
    if (hook.version !== null && hook.version === store.version()) return hook;
    const { key } = hook.config;
    const current = key === null ? hook.config : await keepers.webhookConfigs.byKey(key);
    const project = current === null ? null : await keepers.projects.byId(current.projectId);
    if (current === null || project === null)
      return { code: "endpoint_not_found", reason: "The key was reset, or the project deleted, meanwhile." };
    if (way.enabled && !current.enabled)
      return { code: "webhook_disabled", reason: "The webhook of this project is not enabled." };
    const isSame = current.updatedAt.getTime() === hook.config.updatedAt.getTime();
    if (isSame) return { ...hook, project };
    const changed = hooks.hookOf(current, project);
    hooks.forget(key);
    if (isVerifiedBy && !isVerifiedBy(changed))
      return {
        code: "signature_invalid",
        reason: "The secret was changed meanwhile.",
        told: signatureFailed,
      };
    return changed;
  }

  interface Written {
    id: number;
    record: NewDelivery;
    decision: Decision;
  }

  async function decideInTransaction(keepers: Keepers, arrived: Arrived, now: Date): Promise<Written> {
    const { way, trace, known } = arrived;
    const hook = await recheck(keepers, arrived);
    if ("code" in hook) return write(keepers, known, { outcome: hook }, now);
    const crowded = isCountedTogether(way) && (await overRate(keepers, hook, now, trace));
    if (crowded) return write(keepers, known, { outcome: crowded }, now);
    const { event, decision } = await judge(keepers, { way, hook, event: arrived.event, trace, now });
    return write(keepers, { ...known, event }, decision, now);
  }

  /** Where other instances take deliveries too, this one's own count of the project's rate is only a part. */
  const isCountedTogether = (way: WayIn) => way.rate && store.version() === null;
  const overRate = (keepers: Keepers, { config }: Hook, now: Date, trace: Trace) =>
    overSharedRate(keepers.deliveries, config.projectId, options.limitPerMinute, now, trace);

  /** The record, in the same transaction as the task; the task then learns the record's id. */
  async function write(keepers: Keepers, known: Known, decision: Decision, now: Date): Promise<Written> {
    const { outcome, enqueued, mergedIntoTaskId } = decision;
    const record = recordOf({ ...known, arrivedAt: now }, outcome, {
      ...(enqueued ? { taskId: enqueued.task.id } : {}),
      ...(mergedIntoTaskId === undefined ? {} : { mergedIntoTaskId }),
    });
    const id = await keepers.deliveries.create(record);
    if (!enqueued) return { id, record, decision };
    await keepers.tasks.setDelivery(enqueued.task.id, id);
    const task = { ...enqueued.task, deliveryId: id };
    return { id, record, decision: { ...decision, enqueued: { ...enqueued, task } } };
  }

  function tell({ id, record, decision }: Written): void {
    metrics.recorded(record.status, record.code);
    if (decision.enqueued) announcer.enqueued(decision.enqueued);
    if (decision.moved) announcer.changed(decision.moved);
    onDelivery(summaryOf(id, record));
  }

  async function refuse(known: Known, outcome: Outcome): Promise<Answer> {
    try {
      const record = recordOf(known, outcome);
      const id = await store.deliveries.create(record);
      tell({ id, record, decision: { outcome } });
      return answerOf(outcome, id);
    } catch (error) {
      log.error(
        { error: textOf(error), code: outcome.code, projectId: known.projectId },
        "a delivery could not be recorded",
      );
      metrics.recorded("failed", "internal_error");
      return answerOf({ code: "internal_error", reason: "The delivery could not be recorded." }, 0);
    }
  }

  /** After a rollback: the failure has a record of its own. */
  async function fail(known: Known, error: unknown): Promise<Answer> {
    log.error({ error: textOf(error), projectId: known.projectId }, "a delivery failed");
    const reason = error instanceof Fault ? error.message : "An unexpected error; the log has the details.";
    return refuse(known, { code: "internal_error", reason, told: "The delivery could not be handled." });
  }

  return {
    async decide(arrived) {
      const startedAtMs = performance.now();
      const { known, hook } = arrived;
      try {
        const written = await store.withLock(
          `webhook ${hook.config.projectId}`,
          options.lockWaitMs,
          async () => {
            const now = await store.now();
            return store.transaction((keepers) => decideInTransaction(keepers, arrived, now));
          },
        );
        if (written === "timeout") return await refuse(known, lockTimeout(options.lockWaitMs));
        tell(written);
        return answerOf(written.decision.outcome, written.id, effectsOf(written.decision));
      } catch (error) {
        return fail(known, error);
      } finally {
        metrics.decided((performance.now() - startedAtMs) / 1000);
      }
    },
    preview: (hook, event, way, trace) =>
      judge(store, { way, hook, event, trace, now: new Date(clock.now()) }),
    refuse,
    fail,
  };
}

/** All that a sender is told, whatever the mistake. */
export const signatureFailed = "The signature failed.";

function lockTimeout(waitMs: number): Outcome {
  const seconds = Math.ceil(waitMs / 1000);
  return {
    code: "lock_timeout",
    reason: `Deliveries are too dense: the project was busy with others for ${seconds} s. Replay this one later.`,
    retryAfterSeconds: seconds,
  };
}

function withAside(decision: Decision, aside: string): Decision {
  const { outcome } = decision;
  return { ...decision, outcome: { ...outcome, reason: `${outcome.reason} ${aside}` } };
}

function effectsOf(decision: Decision): Partial<DeliveryAnswer> {
  const { enqueued, place, mergedIntoTaskId } = decision;
  const effects: Partial<DeliveryAnswer> = { message: messageOf(decision) };
  if (enqueued) effects.taskId = enqueued.task.id;
  if (mergedIntoTaskId !== undefined) effects.mergedIntoTaskId = mergedIntoTaskId;
  if (place?.queued) {
    effects.queued = true;
    effects.queuePosition = place.position;
  }
  return effects;
}
