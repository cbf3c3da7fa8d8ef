import { decodeBody, formPayloadOf } from "../../git-host/delivery/body.ts";
import type { HeaderValues } from "../../git-host/delivery/headers.ts";
import { proofOf } from "../../git-host/git-host.ts";
import { gitHostOf } from "../../git-host/hosts.ts";
import { keptHeaders, withoutSecret } from "../../git-host/kept-headers.ts";
import { isSignedBy, type SignedRequest } from "../../git-host/proof/proof.ts";
import { hostDeliveryIdOf, readEvent } from "../../git-host/read-event.ts";
import type { Hook } from "./locate.ts";
import type { Known } from "./record.ts";
import { storedBodyOf } from "./stored-body.ts";
import { newTrace } from "./trace.ts";

/** A request at the delivery endpoint. */
export interface Incoming {
  /** The hookKey of the address; empty: not a valid key. */
  key: string;
  headers: HeaderValues;
  query: { get(name: string): string | null };
  remoteIp: string;
  /** The key of limits per address: an IPv6 network, because one sender can use all its addresses. */
  limitKey: string;
  /** Reads the body; called at most once, after the endpoint is found and enabled. */
  readBody(): Promise<Uint8Array | "too_large" | "broken">;
}

/** A delivery whose body has been read. */
export interface Reading {
  known: Known;
  /** Why the body contains no event; "" if it contains one. */
  problem: string;
}

/** For a delivery without a project. */
export function unknownDelivery(incoming: Incoming, nowMs: number): Known {
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

/** For a delivery to a hook, before its body is read. */
export function locatedDelivery(hook: Hook, incoming: Incoming, known: Known): Known {
  const provider = gitHostOf(hook.config.provider);
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

/** Decodes, normalises and masks the body as the hook says. */
export function readDelivery(hook: Hook, incoming: Incoming, known: Known, body: Uint8Array): Reading {
  const headers = withoutSecret(incoming.headers, hook.config);
  const { text, payload, problem } = decodeBody(
    body,
    headers.get("content-type") ?? "",
    headers.get("content-encoding") ?? "",
  );
  const event = payload === null ? null : readEvent(gitHostOf(hook.config.provider), headers, payload);
  const nowMs = known.arrivedAt.getTime();
  const secrets = [...hook.secrets().accepted(nowMs), ...hook.secrets().ended(nowMs)];
  return { known: { ...known, event, body: storedBodyOf(text, payload ?? undefined, secrets) }, problem };
}

export function signedRequestOf(incoming: Incoming, body: Uint8Array): SignedRequest {
  let formPayload: Uint8Array | null | undefined;
  return {
    body,
    headers: incoming.headers,
    query: incoming.query,
    formPayload() {
      if (formPayload === undefined) {
        const payload = formPayloadOf(body, incoming.headers.get("content-type") ?? "");
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
