import type { Clock } from "../../clock.ts";
import { proofOf } from "../../git-host/git-host.ts";
import { gitHostOf } from "../../git-host/hosts.ts";
import { keptHeaders } from "../../git-host/kept-headers.ts";
import type { SignedRequest } from "../../git-host/proof/proof.ts";
import { diagnose } from "../../git-host/signature-doctor.ts";
import { uncountedCodes } from "../../model/delivery.ts";
import type { Store } from "../../model/store.ts";
import { SlidingWindow, wholeSeconds } from "../../rate-limit.ts";
import { reasonText } from "../../reason/reason.ts";
import { deliveryKinds } from "../decide/delivery-kind.ts";
import type { Hook, HookDirectory } from "../decide/locate.ts";
import { type Answer, answerOf, type Outcome } from "../decide/outcome.ts";
import {
  type Incoming,
  isVerified,
  locatedDelivery,
  type Reading,
  readDelivery,
  signedRequestOf,
  unknownDelivery,
} from "../decide/parse.ts";
import { notEnabled, type Pipeline, type Sent, signatureInvalid } from "../decide/pipeline.ts";
import { bucketOf, buildProjectRates, rateLimited, withinRate } from "../decide/rate.ts";
import { type Known, withBoundedEvent } from "../decide/record.ts";
import { buildFloodGuard, type FloodGuard, type Origin } from "./flood.ts";

export interface Receiver {
  receive(incoming: Incoming): Promise<Answer>;
  /** Resolves when all records are written. */
  close(): Promise<void>;
}

export interface ReceiverOptions {
  store: Store;
  hooks: HookDirectory;
  pipeline: Pipeline;
  clock: Clock;
  limitPerMinute: number;
  maxBodyKB: number;
  onFloodWriteFailed: (error: unknown) => void;
}

/** Receives live deliveries: checks endpoint, size, rate and signature. Verified ones are decided under the project's lock. */
export function buildReceiver(options: ReceiverOptions): Receiver {
  const { store, hooks, pipeline, clock, limitPerMinute } = options;
  const rates = buildProjectRates(limitPerMinute);
  /** Per address, so that guessing secrets does not use up the project's rate. */
  const failedSignatures = new SlidingWindow<string>(limitPerMinute);
  const floods: FloodGuard = buildFloodGuard({
    addToCount: (id, more) => store.deliveries.addToCount(id, more),
    failed: options.onFloodWriteFailed,
  });

  async function receive(incoming: Incoming): Promise<Answer> {
    let known = unknownDelivery(incoming, clock.now());
    try {
      const hook = incoming.key !== "" ? await locate(incoming, known) : null;
      if (hook === null) return await refuseUnknown(incoming, known);
      if ("body" in hook) return hook;
      known = locatedDelivery(hook, incoming, known);
      return await receiveFor(hook, incoming, known);
    } catch (error) {
      return pipeline.fail(known, error);
    }
  }

  /** Retries a failed look-up once: a broken database connection has been replaced by then. */
  async function locate(incoming: Incoming, known: Known): Promise<Hook | Answer | null> {
    try {
      return await hooks.byKey(incoming.key);
    } catch {
      try {
        return await hooks.byKey(incoming.key);
      } catch (error) {
        return pipeline.fail(await ownedDelivery(incoming, known), error);
      }
    }
  }

  /** Adds the project to the record of a failed look-up, if it can be read now. */
  async function ownedDelivery(incoming: Incoming, known: Known): Promise<Known> {
    const config = await store.webhookConfigs.byKey(incoming.key).catch(() => null);
    return config === null ? known : { ...known, projectId: config.projectId, provider: config.provider };
  }

  function receiveFor(remembered: Hook, incoming: Incoming, known: Known): Promise<Answer> {
    if (remembered.config.enabled) return receiveEnabled(remembered, incoming, known);
    return withCurrent(remembered, incoming, known, (hook) => receiveEnabled(hook, incoming, known));
  }

  /** Continues with the current configuration, if it is enabled: a refusal is never based on a cached one. */
  async function withCurrent(
    remembered: Hook,
    incoming: Incoming,
    known: Known,
    proceed: (hook: Hook) => Promise<Answer>,
  ): Promise<Answer> {
    const hook = await hooks.current(remembered);
    if (hook === null) return refuseUnknown(incoming, known);
    if (hook.config.enabled) return proceed(hook);
    return refuse(incoming, known, notEnabled(known.trace));
  }

  async function receiveEnabled(hook: Hook, incoming: Incoming, known: Known): Promise<Answer> {
    known.trace.add("enabled", "pass", "", "", reasonText("enabled"));
    const body = await incoming.readBody();
    if (body === "too_large")
      return withCurrent(hook, incoming, known, () =>
        refuse(incoming, known, tooLarge(options.maxBodyKB, known)),
      );
    if (body === "broken")
      return withCurrent(hook, incoming, known, () => refuse(incoming, known, brokenBody));
    return receiveBody(hook, incoming, known, body);
  }

  function receiveBody(
    remembered: Hook,
    incoming: Incoming,
    known: Known,
    body: Uint8Array,
  ): Promise<Answer> {
    const [nowMs, elapsedMs] = [clock.now(), clock.elapsed()];
    const waitMs = rates.listed.waitMs(known.projectId, elapsedMs);
    if (waitMs !== null && floods.isFlooding(originOf(incoming, known, "verified"), elapsedMs))
      return refuse(incoming, known, rateLimited(limitPerMinute, "listed", waitMs, known.trace), "verified");
    const limit = `${options.maxBodyKB} KB`;
    known.trace.add("size", "pass", `${body.byteLength} bytes`, limit, reasonText("size_ok"));
    const request = signedRequestOf(incoming, body);
    const readAs = (hook: Hook, as: Known) => readDelivery(hook, incoming, as, body);
    let reading: Reading | null = null;
    const sent: Sent = {
      isVerifiedBy: (hook) => isVerified(hook, request, nowMs),
      signatureFaultOf: (hook) => diagnosisOf(hook, request, clock.now()),
      readBy(hook) {
        if (hook !== remembered) return readAs(hook, locatedDelivery(hook, incoming, known));
        reading ??= readAs(hook, known);
        return reading;
      },
      refuseUnknown: () => refuseUnknown(incoming, known),
    };
    const isWithinRate = (hook: Hook) =>
      rates[bucketOf(sent.readBy(hook).known.event, hook.rules)].waitMs(known.projectId, elapsedMs) === null;
    if (waitMs === null && sent.isVerifiedBy(remembered) && isWithinRate(remembered))
      return receiveVerified(remembered, incoming, sent);
    return withCurrent(remembered, incoming, known, async (hook) => {
      if (sent.isVerifiedBy(hook)) return receiveVerified(hook, incoming, sent);
      const stillWaitMs = rates.listed.waitMs(known.projectId, clock.elapsed());
      if (stillWaitMs !== null)
        return refuse(incoming, known, rateLimited(limitPerMinute, "listed", stillWaitMs, known.trace));
      return refuseSignature(hook, incoming, known, sent);
    });
  }

  /** Only verified deliveries count against the project's rate, and not those with one of the `uncountedCodes`. */
  async function receiveVerified(hook: Hook, incoming: Incoming, sent: Sent): Promise<Answer> {
    const { known, problem } = sent.readBy(hook);
    const { projectId, trace } = known;
    const takenAtMs = clock.elapsed();
    const bucket = bucketOf(known.event, hook.rules);
    const waitMs = rates[bucket].take(projectId, takenAtMs);
    // Git hosts do not retry, so a verified delivery stays replayable.
    if (waitMs !== null) {
      const kept = hook.config.secret === null ? withBoundedEvent(known) : known;
      return refuse(incoming, kept, rateLimited(limitPerMinute, bucket, waitMs, trace), "verified");
    }
    withinRate(limitPerMinute, bucket, trace);
    if (hook.config.secret === null) trace.add("signature", "skipped", "", "", reasonText("unsigned"));
    else trace.add("signature", "pass", "", hook.config.provider, reasonText("signature_ok"));
    const answer = await pipeline.decide({ kind: deliveryKinds.live, hook, known, problem, sent });
    if (uncountedCodes.includes(answer.body.code)) rates[bucket].giveBack(projectId, takenAtMs);
    return answer;
  }

  /**
   * The failure is counted before the body is parsed, so that an unverified sender causes no more work than a signature
   * check. Beyond the limit of an address, or in a flood from many addresses, the body is not parsed at all.
   */
  function refuseSignature(hook: Hook, incoming: Incoming, located: Known, sent: Sent): Promise<Answer> {
    const elapsedMs = clock.elapsed();
    const overLimit = failedSignatures.take(incoming.limitKey, elapsedMs);
    if (overLimit !== null)
      return refuse(incoming, located, {
        code: "rate_limited",
        reason: reasonText("failed_signatures", { address: incoming.limitKey, limit: limitPerMinute }),
        told: "Too many failed signatures; try again later.",
        retryAfterSeconds: wholeSeconds(overLimit),
      });
    withinRate(limitPerMinute, "listed", located.trace);
    const isFlooding = floods.isFlooding(originOf(incoming, located), elapsedMs);
    const known = isFlooding ? located : withBoundedEvent(sent.readBy(hook).known);
    const why = isFlooding ? reasonText("signature_flood") : sent.signatureFaultOf(hook);
    return refuse(incoming, known, signatureInvalid(hook, why, known.trace));
  }

  async function refuseUnknown(incoming: Incoming, known: Known): Promise<Answer> {
    // In a flood only the count grows, so no look-up is needed.
    const isLookedUp =
      incoming.key !== "" && !floods.isFlooding(originOf(incoming, unknownPlace), clock.elapsed());
    const formerProjectId = isLookedUp ? await store.webhookConfigs.formerProjectOf(incoming.key) : null;
    const outcome: Outcome = {
      code: "endpoint_not_found",
      reason: formerProjectId === null ? unknownEndpoint : reasonText("address_reset"),
      told: unknownEndpoint,
    };
    known.trace.add("locate", "stop", "", "", outcome.reason);
    const headers = keptHeaders(incoming.headers);
    return refuse(
      incoming,
      { ...unknownDelivery(incoming, clock.now()), headers, trace: known.trace, formerProjectId },
      outcome,
    );
  }

  /** Refuses and records; in a flood, refusals are only counted. */
  async function refuse(
    incoming: Incoming,
    known: Known,
    outcome: Outcome,
    proof: "unverified" | "verified" = "unverified",
  ): Promise<Answer> {
    let own: Answer | null = null;
    try {
      const id = await floods.record(originOf(incoming, known, proof), clock.elapsed(), async () => {
        own = await pipeline.refuse(known, outcome);
        if (own.body.deliveryId === 0) throw new Error("not recorded");
        return own.body.deliveryId;
      });
      return own ?? answerOf(outcome, id);
    } catch {
      return own ?? answerOf({ code: "internal_error", reason: reasonText("not_recorded") }, 0);
    }
  }

  return { receive, close: () => floods.settle() };
}

const unknownEndpoint = reasonText("unknown_endpoint");
const brokenBody: Outcome = { code: "invalid_payload", reason: reasonText("body_broken") };

function tooLarge(maxBodyKB: number, { trace }: Known): Outcome {
  const reason = reasonText("body_too_large", { limit: maxBodyKB });
  trace.add("size", "stop", "", `${maxBodyKB} KB`, reason);
  return { code: "body_too_large", reason };
}

const unknownPlace: Pick<Known, "projectId"> = { projectId: 0 };

/**
 * Floods are counted per address, and for a project also per project, so that its managers see their own. Verified
 * deliveries are counted separately, so that a flood of unverified ones does not suppress records of the host.
 */
function originOf(
  { limitKey }: Incoming,
  { projectId }: Pick<Known, "projectId">,
  proof: "unverified" | "verified" = "unverified",
): Origin {
  return { source: `${limitKey} ${projectId} ${proof}`, place: `${projectId} ${proof}` };
}

function diagnosisOf(hook: Hook, request: SignedRequest, nowMs: number): string {
  const secrets = hook.secrets();
  return diagnose({
    secrets: secrets.accepted(nowMs),
    endedSecrets: secrets.ended(nowMs),
    proof: proofOf(gitHostOf(hook.config.provider), hook.config),
    request,
    nowMs,
  });
}
