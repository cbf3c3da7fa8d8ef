import { formPayloadOf } from "../../git-host/delivery/body.ts";
import { proofOf } from "../../git-host/git-host.ts";
import { gitHostOf } from "../../git-host/hosts.ts";
import { isSignedBy, type SignedRequest } from "../../git-host/proof/proof.ts";
import { diagnose } from "../../git-host/signature-doctor.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { Hook } from "../hook/hooks.ts";
import type { DeliveryRequest, Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

/** What the signature of a request is checked against: the raw body, the headers, the query. */
export function signedRequestOf({ headers, query }: DeliveryRequest, body: Uint8Array): SignedRequest {
  let formPayload: Uint8Array | null | undefined;
  return {
    body,
    headers,
    query,
    formPayload() {
      if (formPayload === undefined) {
        const payload = formPayloadOf(body, headers.get("content-type") ?? "");
        formPayload = payload === null ? null : Buffer.from(payload);
      }
      return formPayload;
    },
  };
}

export function isVerified(hook: Hook, request: SignedRequest, nowMs: number): boolean {
  const accepted = hook.secrets().accepted(nowMs);
  if (accepted.length === 0) return true;
  const proof = proofOf(gitHostOf(hook.config.provider), hook.config);
  // Without an early exit: the time must not reveal which of two secrets matches.
  return accepted.filter((secret) => isSignedBy(secret, proof, request, nowMs)).length > 0;
}

export function notEnabled(trace: Trace): Outcome {
  const reason = newReason("not_enabled");
  trace.add("enabled", "stop", "", "", reason);
  return { code: "webhook_disabled", reason };
}

/** The only text that a sender gets, whatever the cause is. */
const signatureFailed = "The signature failed.";

export function signatureInvalid(
  { provider }: Pick<WebhookConfig, "provider">,
  why: Reason,
  trace: Trace,
): Outcome {
  const reason = newReason("signature_failed", { why });
  trace.add("signature", "stop", "", provider, reason);
  return { code: "signature_invalid", reason, told: signatureFailed };
}

/** Which mistake a failed signature looks like. */
export function diagnosisOf(hook: Hook, request: SignedRequest, nowMs: number): Reason {
  const secrets = hook.secrets();
  return diagnose({
    secrets: secrets.accepted(nowMs),
    endedSecrets: secrets.ended(nowMs),
    proof: proofOf(gitHostOf(hook.config.provider), hook.config),
    request,
    nowMs,
  });
}
