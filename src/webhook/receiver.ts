import type { Clock } from "../clock.ts";
import { uncountedCodes } from "../model/delivery.ts";
import type { Store } from "../model/store.ts";
import { buildFloodGuard, type FloodGuard } from "./flood.ts";
import type { Hook, HookDirectory } from "./hook-directory.ts";
import {
  type Incoming,
  isVerified,
  locatedDelivery,
  readDelivery,
  signedRequestOf,
  unknownDelivery,
} from "./incoming.ts";
import { keptHeaders } from "./kept-headers.ts";
import { buildSlidingLimit, secondsUntil } from "./limits.ts";
import { type Answer, answerOf, type Outcome } from "./outcome.ts";
import { notEnabled, type Pipeline, type Sent, signatureFailed } from "./pipeline.ts";
import { rateLimited } from "./project-rate.ts";
import { providerOf } from "./providers.ts";
import type { Known } from "./record.ts";
import type { SignedRequest } from "./signature.ts";
import { diagnose } from "./signature-doctor.ts";
import { waysIn } from "./ways-in.ts";

export interface Receiver {
  receive(incoming: Incoming): Promise<Answer>;
  /** Waits for what is still being written. */
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

const hookKey = /^[0-9a-f]{48}$/;

/** The live way in: locate, enabled, read, rate, signature; what passes is decided under the project's lock. */
export function buildReceiver(options: ReceiverOptions): Receiver {
  const { store, hooks, pipeline, clock, limitPerMinute } = options;
  const rate = buildSlidingLimit(limitPerMinute);
  /** Per address: whoever guesses secrets must not use up the project's own rate. */
  const failedSignatures = buildSlidingLimit(limitPerMinute);
  const floods: FloodGuard = buildFloodGuard({
    addToCount: (id, more) => store.deliveries.addToCount(id, more),
    failed: options.onFloodWriteFailed,
  });

  async function receive(incoming: Incoming): Promise<Answer> {
    let known = unknownDelivery(incoming, clock.now());
    try {
      const hook = hookKey.test(incoming.key) ? await hooks.byKey(incoming.key) : null;
      if (hook === null) return await refuseUnknown(incoming, known);
      known = locatedDelivery(hook, incoming, known);
      return await receiveFor(hook, incoming, known);
    } catch (error) {
      return pipeline.fail(known, error);
    }
  }

  function receiveFor(remembered: Hook, incoming: Incoming, known: Known): Promise<Answer> {
    if (remembered.config.enabled) return receiveEnabled(remembered, incoming, known);
    return withCurrent(remembered, incoming, known, (hook) => receiveEnabled(hook, incoming, known));
  }

  /** A refusal is never based on a remembered configuration: this one is of the moment, and enabled. */
  async function withCurrent(
    remembered: Hook,
    incoming: Incoming,
    known: Known,
    goOn: (hook: Hook) => Promise<Answer>,
  ): Promise<Answer> {
    const hook = await hooks.current(remembered);
    if (hook === null) return refuseUnknown(incoming, known);
    if (hook.config.enabled) return goOn(hook);
    return refuseFlooding(incoming, known, notEnabled(known.trace));
  }

  async function receiveEnabled(hook: Hook, incoming: Incoming, known: Known): Promise<Answer> {
    known.trace.add("enabled", "pass", "", "", "The webhook is enabled.");
    const body = await incoming.readBody();
    if (body === "too_large")
      return withCurrent(hook, incoming, known, () =>
        refuseFlooding(incoming, known, tooLarge(options.maxBodyKB, known)),
      );
    if (body === "broken")
      return withCurrent(hook, incoming, known, () => refuseFlooding(incoming, known, brokenBody));
    return receiveBody(hook, incoming, known, body);
  }

  function receiveBody(
    remembered: Hook,
    incoming: Incoming,
    known: Known,
    body: Uint8Array,
  ): Promise<Answer> {
    const nowMs = clock.now();
    const waitMs = rate.waitMs(known.projectId, nowMs);
    if (waitMs !== null && floods.isFlooding(sourceOf(incoming, known), nowMs))
      return refuseFlooding(incoming, known, rateLimited(limitPerMinute, waitMs, known.trace));
    const limit = `${options.maxBodyKB} KB`;
    known.trace.add("size", "pass", `${body.byteLength} bytes`, limit, "The body is within the limit.");
    const request = signedRequestOf(incoming, body);
    const sent: Sent = {
      isVerifiedBy: (hook) => isVerified(hook, request, nowMs),
      readBy: (hook) =>
        readDelivery(
          hook,
          incoming,
          hook === remembered ? known : locatedDelivery(hook, incoming, known),
          body,
        ),
      refuseUnknown: () => refuseUnknown(incoming, known),
    };
    if (waitMs === null && sent.isVerifiedBy(remembered)) return receiveVerified(remembered, incoming, sent);
    return withCurrent(remembered, incoming, known, async (hook) => {
      if (sent.isVerifiedBy(hook)) return receiveVerified(hook, incoming, sent);
      const stillWaitMs = rate.waitMs(known.projectId, clock.now());
      if (stillWaitMs !== null)
        return refuseFlooding(incoming, known, rateLimited(limitPerMinute, stillWaitMs, known.trace));
      withinRate(known);
      return refuseSignature(hook, incoming, request, sent.readBy(hook).known);
    });
  }

  /** Only what is verified has a place in the project's rate, until it ends in what does not count. */
  async function receiveVerified(hook: Hook, incoming: Incoming, sent: Sent): Promise<Answer> {
    const { known, problem } = sent.readBy(hook);
    const { projectId, trace } = known;
    const nowMs = clock.now();
    const waitMs = rate.take(projectId, nowMs);
    // Hosts do not send again: what is surely theirs stays replayable.
    if (waitMs !== null) return refuseFlooding(incoming, known, rateLimited(limitPerMinute, waitMs, trace));
    withinRate(known);
    if (hook.config.secret === null)
      trace.add("signature", "skipped", "", "", "No secret is set, so nothing is verified.");
    else trace.add("signature", "pass", "", hook.config.provider, "The signature is right.");
    const answer = await pipeline.decide({ way: waysIn.live, hook, known, problem, sent });
    if (uncountedCodes.includes(answer.body.code)) rate.giveBack(projectId, nowMs);
    return answer;
  }

  function withinRate({ trace }: Known): void {
    trace.add("rate", "pass", "", `${limitPerMinute} a minute`, "The project is within its rate.");
  }

  function refuseSignature(
    hook: Hook,
    incoming: Incoming,
    request: SignedRequest,
    known: Known,
  ): Promise<Answer> {
    const nowMs = clock.now();
    const overLimit = failedSignatures.take(incoming.limitKey, nowMs);
    if (overLimit !== null)
      return refuseFlooding(
        incoming,
        { ...known, event: null, body: "" },
        {
          code: "rate_limited",
          reason: `Too many failed signatures from ${incoming.limitKey}: more than ${limitPerMinute} a minute.`,
          told: "Too many failed signatures; try again later.",
          retryAfterSeconds: secondsUntil(overLimit),
        },
      );
    const secrets = hook.secrets();
    const diagnosis = diagnose({
      secrets: secrets.accepted(nowMs),
      endedSecrets: secrets.ended(nowMs),
      scheme: providerOf(hook.config.provider).signature,
      place: hook.config,
      request,
      nowMs,
    });
    const reason = `The signature failed: ${diagnosis}.`;
    known.trace.add("signature", "stop", "", hook.config.provider, reason);
    return pipeline.refuse(known, { code: "signature_invalid", reason, told: signatureFailed });
  }

  async function refuseUnknown(incoming: Incoming, known: Known): Promise<Answer> {
    const isKey = hookKey.test(incoming.key);
    const formerProjectId = isKey ? await store.webhookConfigs.formerProjectOf(incoming.key) : null;
    const outcome: Outcome = {
      code: "endpoint_not_found",
      reason:
        formerProjectId === null
          ? unknownEndpoint
          : "The address is one that was reset; give the host the new one.",
      told: unknownEndpoint,
    };
    known.trace.add("locate", "stop", "", "", outcome.reason);
    const headers = keptHeaders(incoming.headers);
    return refuseFlooding(
      incoming,
      { ...unknownDelivery(incoming, clock.now()), headers, trace: known.trace, formerProjectId },
      outcome,
    );
  }

  /** For refusals that cost the sender nothing: their records are folded when they come in floods. */
  async function refuseFlooding(incoming: Incoming, known: Known, outcome: Outcome): Promise<Answer> {
    let own: Answer | null = null;
    try {
      const id = await floods.record(sourceOf(incoming, known), clock.now(), async () => {
        own = await pipeline.refuse(known, outcome);
        if (own.body.deliveryId === 0) throw new Error("not recorded");
        return own.body.deliveryId;
      });
      return own ?? answerOf(outcome, id);
    } catch {
      return own ?? answerOf({ code: "internal_error", reason: "The delivery could not be recorded." }, 0);
    }
  }

  return { receive, close: () => floods.settle() };
}

const unknownEndpoint = "There is no such endpoint.";
const brokenBody: Outcome = { code: "invalid_payload", reason: "The body did not arrive whole." };

function tooLarge(maxBodyKB: number, { trace }: Known): Outcome {
  const reason = `The body is larger than ${maxBodyKB} KB.`;
  trace.add("size", "stop", "", `${maxBodyKB} KB`, reason);
  return { code: "body_too_large", reason };
}

/** A flood is folded per address; at a project also per project, so that its managers see their own. */
function sourceOf({ limitKey }: Incoming, { projectId }: Known): string {
  return projectId === 0 ? limitKey : `${limitKey} ${projectId}`;
}
