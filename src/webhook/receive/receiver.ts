import type { Clock } from "../../clock.ts";
import { keptHeaders } from "../../git-host/kept-headers.ts";
import type { SignedRequest } from "../../git-host/proof/proof.ts";
import { uncountedCodes } from "../../model/delivery.ts";
import type { Store } from "../../model/store.ts";
import { SlidingWindow, wholeSeconds } from "../../rate-limit.ts";
import { newReason } from "../../reason/reason.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Decider } from "../decide/decider.ts";
import {
  type DeliveryRequest,
  newDelivery,
  type PendingDelivery,
  projectOf,
  type Trace,
  traceOn,
  withProject,
} from "../decide/delivery.ts";
import { deliveryKinds } from "../decide/delivery-kind.ts";
import { type Answer, answerOf, type Outcome } from "../decide/outcome.ts";
import { parse } from "../decide/parse.ts";
import { bucketOf, buildProjectRates, rateLimited, withinRate } from "../decide/rate.ts";
import { withBoundedEvent } from "../decide/record.ts";
import { diagnosisOf, isVerified, notEnabled, signatureInvalid, signedRequestOf } from "../decide/verify.ts";
import type { Hook, Hooks } from "../hook/hooks.ts";
import type { AskedPaths } from "./asked-paths.ts";
import { buildFloodGuard, type FloodGuard, type Origin } from "./flood.ts";

export interface Receiver {
  receive(request: DeliveryRequest): Promise<Answer>;
  /** Resolves when all records are written. */
  close(): Promise<void>;
}

export interface ReceiverOptions {
  store: Store;
  hooks: Hooks;
  decider: Decider;
  clock: Clock;
  telemetry: Telemetry;
  askedPaths: AskedPaths;
  limitPerMinute: number;
  maxBodyKB: number;
  onFloodWriteFailed: (error: unknown) => void;
}

/** Receives live deliveries: checks endpoint, size, rate and signature. Verified ones are decided under the project's lock. */
export function buildReceiver(options: ReceiverOptions): Receiver {
  const { store, hooks, decider, clock, telemetry, limitPerMinute } = options;
  const rates = buildProjectRates(limitPerMinute);
  /** Per address, so that guessing secrets does not use up the project's rate. */
  const failedSignatures = new SlidingWindow<string>(limitPerMinute);
  const floods: FloodGuard = buildFloodGuard({
    addToCount: (id, more) => store.deliveries.addToCount(id, more),
    failed: options.onFloodWriteFailed,
  });

  const arrived = ({ remoteIp }: DeliveryRequest) =>
    newDelivery(deliveryKinds.live, new Date(clock.now()), {
      remoteIp,
      // Always a new trace: a sender that anyone can be must not decide which traces are recorded.
      traceparent: telemetry.newTrace(),
    });

  async function receive(request: DeliveryRequest): Promise<Answer> {
    let delivery = arrived(request);
    try {
      const hook = request.key !== "" ? await locate(request.key) : null;
      if (hook === null) return await refuseUnknown(request, delivery);
      delivery = withProject(hook, request, delivery);
      return await receiveFor(hook, request, delivery);
    } catch (error) {
      if (delivery.projectId !== 0) return decider.fail(delivery, error);
      return decider.fail(await ownedDelivery(request, delivery), error);
    }
  }

  /** Retries a failed look-up once: a broken database connection has been replaced by then. */
  function locate(key: string): Promise<Hook | null> {
    return hooks.byKey(key).catch(() => hooks.byKey(key));
  }

  /** Adds the project to the record of a failed look-up, if it can be read now. */
  async function ownedDelivery(
    request: DeliveryRequest,
    delivery: PendingDelivery,
  ): Promise<PendingDelivery> {
    const hook = request.key === "" ? null : await hooks.byKey(request.key).catch(() => null);
    return hook === null ? delivery : { ...delivery, ...projectOf(hook) };
  }

  async function receiveFor(
    hook: Hook,
    request: DeliveryRequest,
    delivery: PendingDelivery,
  ): Promise<Answer> {
    const trace = traceOn(delivery.trace);
    if (!hook.config.enabled) return refuse(request, delivery, notEnabled(trace));
    trace.add("enabled", "pass", "", "", newReason("enabled"));
    const body = await request.readBody();
    if (body instanceof Uint8Array) return receiveBody(hook, request, delivery, body);
    return refuse(request, delivery, body === "too_large" ? tooLarge(options.maxBodyKB, trace) : brokenBody);
  }

  async function receiveBody(
    hook: Hook,
    request: DeliveryRequest,
    delivery: PendingDelivery,
    body: Uint8Array,
  ): Promise<Answer> {
    const [nowMs, elapsedMs] = [clock.now(), clock.elapsed()];
    const { projectId } = delivery;
    const trace = traceOn(delivery.trace);
    const waitMs = rates.listed.waitMs(projectId, elapsedMs);
    if (waitMs !== null && floods.isFlooding(originOf(request, projectId, "verified"), elapsedMs))
      return refuse(request, delivery, rateLimited(limitPerMinute, "listed", waitMs, trace), "verified");
    trace.add("size", "pass", `${body.byteLength} bytes`, `${options.maxBodyKB} KB`, newReason("size_ok"));
    const signed = signedRequestOf(request, body);
    const read = () => parse(hook, request, delivery, body);
    if (isVerified(hook, signed, nowMs)) return receiveVerified(hook, request, read());
    if (waitMs !== null)
      return refuse(request, delivery, rateLimited(limitPerMinute, "listed", waitMs, trace));
    return refuseSignature(hook, request, delivery, signed, read);
  }

  /** Only verified deliveries count against the project's rate, and not those with one of the `uncountedCodes`. */
  async function receiveVerified(
    hook: Hook,
    request: DeliveryRequest,
    delivery: PendingDelivery,
  ): Promise<Answer> {
    const { projectId } = delivery;
    const trace = traceOn(delivery.trace);
    const takenAtMs = clock.elapsed();
    const bucket = bucketOf(delivery.event, hook.config);
    const waitMs = rates[bucket].take(projectId, takenAtMs);
    // Git hosts do not retry, so a verified delivery stays replayable.
    if (waitMs !== null) {
      const kept = hook.config.secret === null ? withBoundedEvent(delivery) : delivery;
      return refuse(request, kept, rateLimited(limitPerMinute, bucket, waitMs, trace), "verified");
    }
    withinRate(limitPerMinute, bucket, trace);
    if (hook.config.secret === null) trace.add("signature", "skipped", "", "", newReason("unsigned"));
    else trace.add("signature", "pass", "", hook.config.provider, newReason("signature_ok"));
    const answer = await decider.decide(await options.askedPaths(hook, delivery), {
      readBy: hook.config,
      waitedMs: hook.waitedMs,
      refuseUnknown: () => refuseUnknown(request, delivery),
    });
    if (uncountedCodes.includes(answer.body.code)) rates[bucket].giveBack(projectId, takenAtMs);
    return answer;
  }

  /**
   * The failure is counted before the body is parsed, so that an unverified sender causes no more work than a signature
   * check. Beyond the limit of an address, or in a flood from many addresses, the body is not parsed at all.
   */
  function refuseSignature(
    hook: Hook,
    request: DeliveryRequest,
    delivery: PendingDelivery,
    signed: SignedRequest,
    read: () => PendingDelivery,
  ): Promise<Answer> {
    const elapsedMs = clock.elapsed();
    const overLimit = failedSignatures.take(request.limitKey, elapsedMs);
    if (overLimit !== null)
      return refuse(request, delivery, {
        code: "rate_limited",
        reason: newReason("failed_signatures", { address: request.limitKey, limit: limitPerMinute }),
        told: "Too many failed signatures; try again later.",
        retryAfterSeconds: wholeSeconds(overLimit),
      });
    const trace = traceOn(delivery.trace);
    withinRate(limitPerMinute, "listed", trace);
    if (floods.isFlooding(originOf(request, delivery.projectId), elapsedMs))
      return refuse(request, delivery, signatureInvalid(hook.config, newReason("signature_flood"), trace));
    const why = diagnosisOf(hook, signed, clock.now());
    return refuse(request, withBoundedEvent(read()), signatureInvalid(hook.config, why, trace));
  }

  async function refuseUnknown(request: DeliveryRequest, { trace }: PendingDelivery): Promise<Answer> {
    // In a flood only the count grows, so no look-up is needed.
    const isLookedUp = request.key !== "" && !floods.isFlooding(originOf(request, 0), clock.elapsed());
    const formerProjectId = isLookedUp ? await store.webhookConfigs.formerProjectOf(request.key) : null;
    const outcome: Outcome = {
      code: "endpoint_not_found",
      reason: formerProjectId === null ? unknownEndpoint : newReason("address_reset"),
      told: unknownEndpoint,
    };
    traceOn(trace).add("locate", "stop", "", "", outcome.reason);
    const headers = keptHeaders(request.headers);
    return refuse(request, { ...arrived(request), headers, trace, formerProjectId }, outcome);
  }

  /** Refuses and records; in a flood, refusals are only counted. */
  async function refuse(
    request: DeliveryRequest,
    delivery: PendingDelivery,
    outcome: Outcome,
    proof: Proof = "unverified",
  ): Promise<Answer> {
    let own: Answer | null = null;
    try {
      const origin = originOf(request, delivery.projectId, proof);
      const id = await floods.record(origin, clock.elapsed(), async () => {
        own = await decider.refuse(delivery, outcome);
        if (own.body.deliveryId === 0) throw new Error("not recorded");
        return own.body.deliveryId;
      });
      return own ?? answerOf(outcome, id);
    } catch {
      return own ?? answerOf({ code: "internal_error", reason: newReason("not_recorded") }, 0);
    }
  }

  return { receive, close: () => floods.settle() };
}

const unknownEndpoint = newReason("unknown_endpoint");
const brokenBody: Outcome = { code: "invalid_payload", reason: newReason("body_broken") };

function tooLarge(maxBodyKB: number, trace: Trace): Outcome {
  const reason = newReason("body_too_large", { limit: maxBodyKB });
  trace.add("size", "stop", "", `${maxBodyKB} KB`, reason);
  return { code: "body_too_large", reason };
}

type Proof = "unverified" | "verified";

/**
 * Floods are counted per address, and for a project also per project, so that its managers see their own. Verified
 * deliveries are counted separately, so that a flood of unverified ones does not suppress records of the host.
 */
function originOf({ limitKey }: DeliveryRequest, projectId: number, proof: Proof = "unverified"): Origin {
  return { source: `${limitKey} ${projectId} ${proof}`, place: `${projectId} ${proof}` };
}
