import { BoundedMap } from "../../bounded-map.ts";
import type { Clock } from "../../clock.ts";
import { Fault, messageOf as textOf } from "../../errors.ts";
import { gitHostOf } from "../../git-host/hosts.ts";
import type { Logger } from "../../logger.ts";
import type { DeliverySummary, NormalizedEvent } from "../../model/delivery.ts";
import type { Project } from "../../model/project.ts";
import type { Store } from "../../model/store.ts";
import { reasonText } from "../../reason/reason.ts";
import { isNews } from "../../task/notify/delivery-news.ts";
import type { Enqueued, TaskAnnouncer } from "../../task/queue/queue.ts";
import type { WaitOf } from "../../task/queue/recent-wait.ts";
import { type ArrivedDelivery, acceptDelivery, decide, type Filtered, requestOf } from "./accept-delivery.ts";
import type { Decision, HookRules } from "./create-task.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import { chooseRef, filter } from "./filters.ts";
import type { Hook, HookDirectory } from "./locate.ts";
import { type Answer, answerOf, type Outcome } from "./outcome.ts";
import type { Reading } from "./parse.ts";
import { buildQueuePlaces } from "./queue-places.ts";
import { bucketOf, buildSharedCounts } from "./rate.ts";
import {
  effectsOf,
  isProjectGone,
  type Known,
  recordOf,
  recordRefusal,
  summaryOf,
  type Written,
  withReplacement,
} from "./record.ts";
import type { TipRules } from "./ref-tip.ts";
import { newTrace, type Trace } from "./trace.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";

/** A delivery that is ready for its decision: located, read, and verified as far as its kind requires. */
export interface Arrived extends Reading {
  kind: DeliveryKind;
  hook: Hook;
  /** Only for a live delivery. */
  sent?: Sent;
  tips?: TipRules;
}

/** What the request itself still answers when the hook has changed since the delivery was read. */
export interface Sent {
  /** Whether the signature fits this hook too. */
  isVerifiedBy(hook: Hook): boolean;
  /** Why it does not. */
  signatureFaultOf(hook: Hook): string;
  readBy(hook: Hook): Reading;
  /** A deleted key is answered like a key that never existed. */
  refuseUnknown(): Promise<Answer>;
}

/** A decision and its event: of a push with several refs, the chosen one. */
export interface Judged {
  event: NormalizedEvent;
  decision: Decision;
}

export interface Pipeline {
  /** Decides under the project's lock, records, and notifies when the record is on disk. Never throws. */
  decide(arrived: Arrived): Promise<Answer>;
  /** Only the decision: no record, no task. */
  preview(hook: Hook, event: NormalizedEvent, kind: DeliveryKind, trace: Trace): Promise<Judged>;
  /** Records a delivery that was refused before it could be decided. Never throws. */
  refuse(known: Known, outcome: Outcome): Promise<Answer>;
  fail(known: Known, error: unknown): Promise<Answer>;
}

export interface PipelineOptions {
  store: Store;
  hooks: HookDirectory;
  clock: Clock;
  log: Logger;
  metrics: WebhookMetrics;
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
const maxProjects = 1_000;

export function buildPipeline(options: PipelineOptions): Pipeline {
  const { store, hooks, clock, log, metrics, announcer, onDelivery, limitPerMinute } = options;
  const places = buildQueuePlaces();
  const sharedCounts = buildSharedCounts(limitPerMinute);
  const projects = new BoundedMap<number, { version: string; project: Project }>(maxProjects);

  async function accept(first: Arrived): Promise<Answer> {
    let arrived = first;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const { known, hook } = arrived;
      const refusal = refusalOf(arrived, first);
      if (refusal) return refuse(known, refusal);
      const lock = { name: `webhook ${hook.config.projectId}`, waitMs: options.lockWaitMs };
      const kept = projects.get(known.projectId);
      const written = await store.run(acceptDelivery, asData(arrived, kept?.version ?? null), lock);
      if (written === "timeout") return refuse(known, lockTimeout(options.lockWaitMs));
      if (written === "overtaken") return answerOf(overtaken, 0);
      if (written !== "changed") {
        const { counted, project, projectVersion } = written;
        if (counted) sharedCounts.counted(known.projectId, counted);
        if (project) projects.set(known.projectId, { version: projectVersion, project });
        return answerTo(written, project ?? kept?.project ?? hook.project);
      }
      const current = await hooks.current(hook);
      if (current === null) return refuseGone(arrived);
      arrived = { ...arrived, ...arrived.sent?.readBy(current), hook: current };
    }
    throw new Fault(
      "unavailable",
      `The webhook of project ${first.known.projectId} changes too fast to decide.`,
    );
  }

  function asData(
    { kind, hook, known, problem, tips = { pushedAt: null } }: Arrived,
    projectVersion: string | null,
  ): ArrivedDelivery {
    const { event, trace, ...rest } = known;
    const { projectId } = rest;
    const bucket = bucketOf(event, hook.rules);
    return {
      kind,
      rules: hookRulesOf(hook),
      known: rest,
      steps: trace.steps,
      filtered: event === null ? unreadable(problem) : filtered(hook, event, kind),
      sharedLimit: store.isShared && kind.rate ? sharedCounts.limitOf(projectId, bucket) : null,
      tips: options.keepsTips && hook.project.git.url !== "" ? tips : null,
      countsPlace: kind.task && places.mustCount(projectId, store.now()),
      projectVersion,
      consoleUrl: announcer.consoleUrl(),
    };
  }

  async function answerTo(written: Written, project: Project): Promise<Answer> {
    const { id, outcome, enqueued, place = null } = written;
    notify(written, enqueued && { ...enqueued, project });
    if (!enqueued) return answerOf(outcome, id, effectsOf(written, null, null));
    const { task } = enqueued;
    // The task is on disk, whatever the result of this query is.
    const wait = await options.waitOf(project.id).catch(() => null);
    return answerOf(
      outcome,
      id,
      effectsOf(written, places.placeOf(task.projectId, place, store.now()), wait),
    );
  }

  function notify({ id, record, moved, calls, replacedBy = null }: Written, enqueued?: Enqueued): void {
    metrics.recorded(record.status, record.code);
    if (enqueued) announcer.enqueued(enqueued);
    if (moved) announcer.moved(moved);
    announcer.send(calls);
    onDelivery(withReplacement({ ...record, id, repeat_of: null, replaced_by: replacedBy }));
  }

  async function refuse(known: Known, outcome: Outcome): Promise<Answer> {
    try {
      const record = recordOf(known, outcome, known.arrivedAt);
      const consoleUrl = announcer.consoleUrl();
      const { id, calls } = isNews(record)
        ? await store.run(recordRefusal, { record, consoleUrl })
        : { id: await store.deliveries.create(record), calls: [] };
      notify({ id, record: summaryOf(record), outcome, calls });
      return answerOf(outcome, id);
    } catch (error) {
      log.error(
        { error: textOf(error), outcome: outcome.code, projectId: known.projectId },
        "a delivery could not be recorded",
      );
      metrics.recorded("failed", "internal_error");
      return answerOf({ code: "internal_error", reason: reasonText("not_recorded") }, 0);
    }
  }

  async function refuseGone({ known, sent }: Arrived): Promise<Answer> {
    try {
      return await (sent ? sent.refuseUnknown() : refuse(known, endpointGone));
    } catch (error) {
      return fail(known, error);
    }
  }

  /** After a rollback, the failure gets its own record. */
  async function fail(known: Known, error: unknown): Promise<Answer> {
    log.error({ error: textOf(error), projectId: known.projectId }, "a delivery failed");
    const reason = error instanceof Fault ? error.message : reasonText("unexpected_error");
    return refuse(known, { code: "internal_error", reason, told: "The delivery could not be handled." });
  }

  return {
    async decide(arrived) {
      const startedAtMs = performance.now();
      try {
        return await accept(arrived);
      } catch (error) {
        return isProjectGone(error) ? refuseGone(arrived) : fail(arrived.known, error);
      } finally {
        metrics.decided((performance.now() - startedAtMs) / 1000);
      }
    },
    async preview(hook, event, kind, trace) {
      const now = new Date(clock.now());
      const judged = filtered(hook, event, kind);
      const asked = {
        kind,
        rules: hookRulesOf(hook),
        filtered: judged,
        sharedLimit: null,
        countsPlace: false,
        tips: null,
      };
      const state = await store.deliveries.projectState(requestOf(asked, now));
      if (state === null) throw new Fault("not_found", reasonText("project_gone"));
      const decision = await decide(store, { ...asked, state, trace, now });
      return { event: judged.event ?? event, decision };
    },
    refuse,
    fail,
  };
}

function hookRulesOf({ config, rules }: Hook): HookRules {
  const { projectId, debounceScope, queuePolicy, refSource, actions, updatedAt } = config;
  const { mergeRequestActions, repositoryCheck } = config;
  const { debounceSeconds } = rules;
  const hasRepeats = rules.events.includes("merge_request") || "create" in gitHostOf(config.provider).events;
  return {
    ...{ projectId, debounceScope, queuePolicy, refSource, actions, mergeRequestActions, repositoryCheck },
    ...{ updatedAt, debounceSeconds, hasRepeats },
  };
}

/** Filters depend on the hook only, so they need no lock. */
function filtered({ rules }: Hook, arrived: NormalizedEvent, kind: DeliveryKind): Filtered {
  const trace = newTrace();
  const { event, aside } = chooseRef(arrived, rules, kind, trace);
  return { event, aside, outcome: filter(event, rules, kind, trace), steps: trace.steps };
}

function unreadable(problem: string): Filtered {
  const trace = newTrace();
  trace.add("payload", "stop", "", "a JSON object", problem);
  return {
    event: null,
    aside: "",
    outcome: { code: "invalid_payload", reason: problem },
    steps: trace.steps,
  };
}

/** Switch and secret may have changed since the delivery was read. */
function refusalOf({ kind, hook, known, sent }: Arrived, first: Arrived): Outcome | null {
  if (kind.enabled && !hook.config.enabled) return notEnabled(known.trace);
  const isChanged = hook.config !== first.hook.config;
  if (!isChanged || sent === undefined || sent.isVerifiedBy(hook)) return null;
  return signatureInvalid(hook, sent.signatureFaultOf(hook), known.trace);
}

export function notEnabled(trace: Trace): Outcome {
  const reason = reasonText("not_enabled");
  trace.add("enabled", "stop", "", "", reason);
  return { code: "webhook_disabled", reason };
}

const endpointGone: Outcome = {
  code: "endpoint_not_found",
  reason: reasonText("endpoint_gone"),
};

/** No record: the delivery that handled the ref has one. */
const overtaken: Outcome = {
  code: "duplicate",
  reason: reasonText("overtaken"),
};

/** The only text that a sender gets, whatever the cause is. */
const signatureFailed = "The signature failed.";

export function signatureInvalid({ config }: Hook, why: string, trace: Trace): Outcome {
  const reason = reasonText("signature_failed", { why });
  trace.add("signature", "stop", "", config.provider, reason);
  return { code: "signature_invalid", reason, told: signatureFailed };
}

function lockTimeout(waitMs: number): Outcome {
  const seconds = Math.ceil(waitMs / 1000);
  return {
    code: "lock_timeout",
    reason: reasonText("lock_timeout", { seconds }),
    retryAfterSeconds: seconds,
  };
}
