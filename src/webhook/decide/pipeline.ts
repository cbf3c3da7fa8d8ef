import type { Clock } from "../../clock.ts";
import { Fault, messageOf as textOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { DeliverySummary, NormalizedEvent } from "../../model/delivery.ts";
import type { Store, Unit } from "../../model/store.ts";
import type { TaskAnnouncer } from "../../task/queue/queue.ts";
import type { WaitingOf } from "../../task/queue/waiting.ts";
import { filter } from "./filters.ts";
import type { Hook, HookDirectory } from "./hook-directory.ts";
import type { Reading } from "./incoming.ts";
import { type Answer, answerOf, type Outcome } from "./outcome.ts";
import { bucketOf, overSharedRate } from "./project-rate.ts";
import { buildQueuePlaces } from "./queue-places.ts";
import { type Known, recordOf, summaryOf } from "./record.ts";
import { chooseRef } from "./ref-choice.ts";
import { withReplacement } from "./replacement.ts";
import { type Decision, debounce, giveWay, type InHand, start } from "./task-steps.ts";
import type { Trace } from "./trace.ts";
import type { WayIn } from "./ways-in.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";
import { carryOut, effectsOf, isProjectGone, type Written } from "./written.ts";

/** A delivery that may be decided: located, read, verified as far as its way in asks for it. */
export interface Arrived extends Reading {
  way: WayIn;
  hook: Hook;
  /** Of a live one. */
  sent?: Sent;
}

/** What the request itself still answers when the hook has changed since the delivery was read. */
export interface Sent {
  /** Whether the signature fits this hook too. */
  isVerifiedBy(hook: Hook): boolean;
  readBy(hook: Hook): Reading;
  /** For a key that is gone: as one that never was. */
  refuseUnknown(): Promise<Answer>;
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
  waitingOf: WaitingOf;
  onDelivery: (summary: DeliverySummary) => void;
}

export const lockWaitMs = 5_000;
/** A decision is made anew when the task that it counted on was claimed meanwhile. */
const maxAttempts = 3;

export function buildPipeline(options: PipelineOptions): Pipeline {
  const { store, hooks, clock, log, metrics, announcer, onDelivery } = options;

  const outlook = { placeOf: buildQueuePlaces(), waitingOf: options.waitingOf };

  /** The decision, in the order of the seed. */
  async function judge(keepers: Unit, arrived: InHand): Promise<Judged> {
    const { event, aside } = chooseRef(arrived.event, arrived.hook.rules, arrived.way, arrived.trace);
    const decision = await decideOn(keepers, { ...arrived, event });
    return { event, decision: aside === "" ? decision : withAside(decision, aside) };
  }

  async function decideOn(keepers: Unit, hand: InHand): Promise<Decision> {
    const filtered = filter(hand.event, hand.hook.rules, hand.way, hand.trace);
    if (filtered) return { outcome: filtered };
    return (
      (await debounce(keepers, hand)) ??
      (await giveWay(keepers, hand)) ??
      (await start(keepers, hand, outlook))
    );
  }

  /** Inside the project's lock: nothing else decides for it, but its tasks may be claimed meanwhile. */
  async function decideAlone(locked: Unit, arrived: Arrived): Promise<Written | "gone"> {
    const now = await store.now();
    const { trace, projectId } = arrived.known;
    const steps = trace.steps.length;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const hook = await hooks.current(arrived.hook, locked);
      if (hook === null) return "gone";
      const seen = seenBy(hook, arrived);
      const { event, decision } = await judgeSeen(locked, seen, now);
      const written = await carryOut(locked, { ...seen.known, event }, decision, hook.project, now);
      if (written !== null) return written;
      trace.cutAt(steps);
    }
    throw new Fault("unavailable", `The tasks of project ${projectId} change too fast to decide.`);
  }

  async function judgeSeen(
    locked: Unit,
    seen: Seen,
    now: Date,
  ): Promise<Judged | { event: null; decision: Decision }> {
    const { way, hook, known } = seen;
    const { event, trace } = known;
    const refusal = seen.refusal ?? (isShared() ? await overRate(locked, seen, now) : null);
    if (refusal) return { event, decision: { outcome: refusal } };
    if (event === null) return { event, decision: { outcome: invalidPayload(seen) } };
    return judge(locked, { way, hook, event, trace, now });
  }

  /** Where other instances take deliveries too, this one's own count of the project's rate is only a part. */
  const isShared = () => store.version() === null;

  async function overRate(locked: Unit, { way, hook, known }: Seen, now: Date): Promise<Outcome | null> {
    if (!way.rate) return null;
    const { projectId, event, trace } = known;
    const delivery = { projectId, bucket: bucketOf(event, hook.rules), trace };
    return overSharedRate(locked.deliveries, delivery, options.limitPerMinute, now);
  }

  function tell({ id, record, enqueued, moved, replacedBy = null }: Written): void {
    metrics.recorded(record.status, record.code);
    if (enqueued) announcer.enqueued(enqueued);
    if (moved) announcer.moved(moved.task, moved.from);
    onDelivery(withReplacement(summaryOf({ ...record, id, repeat_of: null, replaced_by: replacedBy })));
  }

  async function refuse(known: Known, outcome: Outcome): Promise<Answer> {
    try {
      const record = recordOf(known, outcome, known.arrivedAt);
      const id = await store.deliveries.create(record);
      tell({ id, record, outcome });
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

  async function refuseGone({ known, sent }: Arrived): Promise<Answer> {
    try {
      return await (sent ? sent.refuseUnknown() : refuse(known, endpointGone));
    } catch (error) {
      return fail(known, error);
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
          (locked) => decideAlone(locked, arrived),
        );
        if (written === "timeout") return await refuse(known, lockTimeout(options.lockWaitMs));
        if (written === "gone") return await refuseGone(arrived);
        tell(written);
        return answerOf(written.outcome, written.id, effectsOf(written));
      } catch (error) {
        return isProjectGone(error) ? refuseGone(arrived) : fail(known, error);
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

/** A delivery as the hook of this moment sees it. */
interface Seen extends Arrived {
  refusal: Outcome | null;
}

/** Switch, secret and provider may have changed while the delivery waited for the lock, or on another instance. */
function seenBy(hook: Hook, arrived: Arrived): Seen {
  const { way, known, sent } = arrived;
  const isChanged = hook.config !== arrived.hook.config;
  const reading = isChanged ? sent?.readBy(hook) : undefined;
  const seen: Seen = { ...arrived, ...reading, hook, refusal: null };
  if (way.enabled && !hook.config.enabled) return { ...seen, refusal: notEnabled(known.trace) };
  if (isChanged && sent?.isVerifiedBy(hook) === false)
    return { ...seen, refusal: secretChanged(known.trace) };
  return seen;
}

function invalidPayload({ problem, known }: Seen): Outcome {
  known.trace.add("payload", "stop", "", "a JSON object", problem);
  return { code: "invalid_payload", reason: problem };
}

export function notEnabled(trace: Trace): Outcome {
  const reason = "The webhook of this project is not enabled.";
  trace.add("enabled", "stop", "", "", reason);
  return { code: "webhook_disabled", reason };
}

const endpointGone: Outcome = {
  code: "endpoint_not_found",
  reason: "The key was reset, or the project deleted, meanwhile.",
};

/** All that a sender is told, whatever the mistake. */
export const signatureFailed = "The signature failed.";

function secretChanged(trace: Trace): Outcome {
  const reason = "The secret was changed meanwhile.";
  trace.add("signature", "stop", "", "", reason);
  return { code: "signature_invalid", reason, told: signatureFailed };
}

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
