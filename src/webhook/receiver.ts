import type { Clock } from "../clock.ts";
import type { NormalizedEvent } from "../model/delivery.ts";
import type { Store } from "../model/store.ts";
import { type DecodedBody, decodeBody, formPayloadOf } from "./body.ts";
import { buildFloodGuard, type FloodGuard } from "./flood.ts";
import type { Hook, HookDirectory } from "./hook-directory.ts";
import { keptHeaders, withoutSecret } from "./kept-headers.ts";
import { buildSlidingLimit, secondsUntil } from "./limits.ts";
import { type Answer, answerOf, type Outcome } from "./outcome.ts";
import { type Pipeline, signatureFailed } from "./pipeline.ts";
import { rateLimited } from "./project-rate.ts";
import { providerOf } from "./providers.ts";
import { type HeaderValues, hostDeliveryIdOf, readEvent } from "./read-event.ts";
import type { Known } from "./record.ts";
import { isSignedBy, type SignedRequest } from "./signature.ts";
import { diagnose } from "./signature-doctor.ts";
import { storedBodyOf } from "./stored-body.ts";
import { newTrace } from "./trace.ts";
import { waysIn } from "./ways-in.ts";

/** A request at the delivery endpoint. */
export interface Incoming {
  key: string;
  headers: HeaderValues;
  query: { get(name: string): string | null };
  remoteIp: string;
  /** Reads the body; called at most once, and not before the endpoint is found and enabled. */
  readBody(): Promise<Uint8Array | "too_large" | "broken">;
}

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
      known = knownOf(hook, incoming, known);
      return await receiveFor(hook, incoming, known);
    } catch (error) {
      return pipeline.fail(known, error);
    }
  }

  async function receiveFor(remembered: Hook, incoming: Incoming, known: Known): Promise<Answer> {
    const hook = remembered.config.enabled ? remembered : await hooks.reload(incoming.key);
    if (hook === null) return refuseUnknown(incoming, known);
    if (!hook.config.enabled) return refuseFlooding(known, disabled);
    known.trace.add("enabled", "pass", "", "", "The webhook is enabled.");
    const body = await incoming.readBody();
    if (body === "too_large") return pipeline.refuse(known, tooLarge(options.maxBodyKB, known));
    if (body === "broken") return refuseFlooding(known, brokenBody);
    return receiveBody(hook, incoming, known, body);
  }

  async function receiveBody(
    remembered: Hook,
    incoming: Incoming,
    known: Known,
    body: Uint8Array,
  ): Promise<Answer> {
    const nowMs = clock.now();
    const { projectId } = remembered.config;
    const waitMs = rate.take(projectId, nowMs);
    const source = sourceOf(known);
    if (waitMs !== null && floods.isFlooding(source, nowMs))
      return refuseFlooding(known, rateLimited(limitPerMinute, waitMs, known.trace));

    const { trace } = known;
    trace.add(
      "size",
      "pass",
      `${body.byteLength} bytes`,
      `${options.maxBodyKB} KB`,
      "The body is within the limit.",
    );
    if (waitMs === null)
      trace.add("rate", "pass", "", `${limitPerMinute} a minute`, "The project is within its rate.");
    const request = signedRequestOf(incoming, body);
    const hook = await verifiedBy(remembered, request, incoming.key, nowMs);
    const [read, decoded] = readBody(hook ?? remembered, incoming, known, body);
    if (waitMs !== null) {
      // Hosts do not send again: what is surely theirs stays replayable.
      const limited = rateLimited(limitPerMinute, waitMs, known.trace);
      return refuseFlooding(hook ? read : { ...known, event: null, body: "" }, limited);
    }
    if (hook === null) {
      rate.giveBack(projectId);
      return refuseSignature(remembered, request, read, nowMs);
    }
    if (hook.config.secret === null)
      trace.add("signature", "skipped", "", "", "No secret is set, so nothing is verified.");
    else trace.add("signature", "pass", "", hook.config.provider, "The signature is right.");
    if (read.event === null || decoded.payload === null)
      return pipeline.refuse(read, invalidPayload(decoded, read));
    return pipeline.decide({
      way: waysIn.live,
      hook,
      event: read.event,
      trace,
      known: read,
      isVerifiedBy: (changed) => isVerified(changed, request, nowMs),
    });
  }

  /** The hook whose secret fits; null when none does. A refusal is never based on a remembered secret alone. */
  async function verifiedBy(
    remembered: Hook,
    request: SignedRequest,
    key: string,
    nowMs: number,
  ): Promise<Hook | null> {
    if (isVerified(remembered, request, nowMs)) return remembered;
    const fresh = await hooks.reload(key);
    return fresh !== null && isVerified(fresh, request, nowMs) ? fresh : null;
  }

  function refuseSignature(hook: Hook, request: SignedRequest, known: Known, nowMs: number): Promise<Answer> {
    const overLimit = failedSignatures.take(known.remoteIp, nowMs);
    if (overLimit !== null)
      return refuseFlooding(
        { ...known, event: null, body: "" },
        {
          code: "rate_limited",
          reason: `Too many failed signatures from ${known.remoteIp}: more than ${limitPerMinute} a minute.`,
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
      { ...unknownDelivery(incoming, clock.now()), headers, trace: known.trace, formerProjectId },
      outcome,
    );
  }

  /** For refusals that cost the sender nothing: their records are folded when they come in floods. */
  async function refuseFlooding(known: Known, outcome: Outcome): Promise<Answer> {
    let own: Answer | null = null;
    try {
      const id = await floods.record(sourceOf(known), clock.now(), async () => {
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
const disabled: Outcome = { code: "webhook_disabled", reason: "The webhook of this project is not enabled." };
const brokenBody: Outcome = { code: "invalid_payload", reason: "The body did not arrive whole." };

function tooLarge(maxBodyKB: number, { trace }: Known): Outcome {
  const reason = `The body is larger than ${maxBodyKB} KB.`;
  trace.add("size", "stop", "", `${maxBodyKB} KB`, reason);
  return { code: "body_too_large", reason };
}

function invalidPayload({ problem }: DecodedBody, { trace }: Known): Outcome {
  trace.add("payload", "stop", "", "a JSON object", problem);
  return { code: "invalid_payload", reason: problem };
}

function isVerified(hook: Hook, request: SignedRequest, nowMs: number): boolean {
  const accepted = hook.secrets().accepted(nowMs);
  if (accepted.length === 0) return true;
  const { signature } = providerOf(hook.config.provider);
  // No early end: which of two secrets fits must not show in the time.
  return accepted.filter((secret) => isSignedBy(secret, signature, hook.config, request, nowMs)).length > 0;
}

function signedRequestOf(incoming: Incoming, body: Uint8Array): SignedRequest {
  return {
    body,
    headers: incoming.headers,
    query: incoming.query,
    formPayload() {
      const payload = formPayloadOf(body, incoming.headers.get("content-type") ?? "");
      return payload === null ? null : Buffer.from(payload);
    },
  };
}

/** Decodes, normalises and masks. */
function readBody(hook: Hook, incoming: Incoming, known: Known, body: Uint8Array): [Known, DecodedBody] {
  const headers = withoutSecret(incoming.headers, hook.config);
  const decoded = decodeBody(body, headers.get("content-type") ?? "", headers.get("content-encoding") ?? "");
  const event: NormalizedEvent | null =
    decoded.payload === null ? null : readEvent(providerOf(hook.config.provider), headers, decoded.payload);
  const nowMs = known.arrivedAt.getTime();
  const secrets = [...hook.secrets().accepted(nowMs), ...hook.secrets().ended(nowMs)];
  const stored = storedBodyOf(decoded.text, decoded.payload ?? undefined, secrets);
  return [{ ...known, event, body: stored }, decoded];
}

function unknownDelivery(incoming: Incoming, nowMs: number): Known {
  return {
    projectId: 0,
    projectName: "",
    provider: "",
    event: null,
    body: "",
    headers: {},
    hostDeliveryId: null,
    remoteIp: incoming.remoteIp,
    arrivedAt: new Date(nowMs),
    trace: newTrace(),
    replayOf: null,
    formerProjectId: null,
  };
}

function knownOf(hook: Hook, incoming: Incoming, known: Known): Known {
  const provider = providerOf(hook.config.provider);
  const headers = withoutSecret(incoming.headers, hook.config);
  return {
    ...known,
    projectId: hook.config.projectId,
    projectName: hook.project.name,
    provider: hook.config.provider,
    headers: keptHeaders(headers, provider),
    hostDeliveryId: hostDeliveryIdOf(provider, headers),
  };
}

/** A flood is folded per address; at a project also per project, so that its managers see their own. */
function sourceOf({ remoteIp, projectId }: Known): string {
  return projectId === 0 ? remoteIp : `${remoteIp} ${projectId}`;
}
