import type { Clock } from "../../clock.ts";
import { ReasonError } from "../../errors.ts";
import { statusApiOf } from "../../git-host/recognise.ts";
import { parseJson } from "../../json.ts";
import type { OutgoingCall } from "../../model/outgoing-call.ts";
import { reservedSecrets, sealedPurpose } from "../../model/sealed.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import type { Secrets } from "../../secrets.ts";
import { webhookHeaders } from "../../standard-webhooks.ts";
import { isChatFormat } from "./chat-formats.ts";
import { chatRequest } from "./chat-request.ts";
import { isSkippedStatus, isStatusAddressOf, statusUrlOf } from "./commit-status.ts";
import { defaultTargetId, openDefaultAddress, readDefaultTarget } from "./default-target.ts";
import type { GuardedRequest, OutgoingAnswer } from "./guarded-request.ts";
import { openAddresses, type TargetAddress } from "./target-address.ts";

export interface OutgoingRequestParts {
  projects: Pick<Keepers["projects"], "secrets" | "byId">;
  meta: Pick<Keepers["meta"], "get">;
  secrets: Secrets;
  clock: Clock;
  /** Origins of Git servers at internal addresses: hosts.trusted. */
  trusted: readonly string[];
}

export type Sendable = Pick<
  OutgoingCall,
  "projectId" | "url" | "targetId" | "messageId" | "proof" | "body" | "subject"
> &
  Partial<Pick<OutgoingCall, "traceparent">>;

/** The call must never be sent. */
export class Withheld extends ReasonError {
  override readonly name = "Withheld";
}

/** What one attempt sends. */
export interface PreparedCall {
  request: GuardedRequest;
  /** Sent first; its response decides about the request. */
  lookUp?: {
    request: GuardedRequest;
    /** "done": nothing is left to send. "unknown": the response does not allow a decision. */
    next(answer: OutgoingAnswer): GuardedRequest | "done" | "unknown";
  };
  /** Values that must not appear in the record of the attempt. */
  secrets: string[];
}

type StoredStatusApi = NonNullable<ReturnType<typeof statusApiOf>>;

export type PrepareCall = (call: Sendable) => Promise<PreparedCall>;

const commonHeaders = { "content-type": "application/json", "user-agent": "Slipway" };

/**
 * Prepares one attempt. Address, signature and token are read for each attempt: receivers refuse an old time, a key may
 * have been replaced, and a stored call contains no secret.
 */
export function buildOutgoingRequests(parts: OutgoingRequestParts): PrepareCall {
  const { projects, meta, secrets, clock, trusted } = parts;

  async function secretOf(projectId: number, name: string): Promise<string | null> {
    const stored = await projects.secrets(projectId);
    const found = stored.find((secret) => secret.name === name);
    return found ? secrets.open(sealedPurpose.projectSecret(projectId, name), found.ciphertext) : null;
  }

  /** While the call waited, the repository may have moved to another server with its own token. */
  async function tokenFor(call: Sendable): Promise<{ token: string; url: string }> {
    const token = await secretOf(call.projectId, reservedSecrets.status);
    if (token === null) throw new Withheld(newReason("notify_no_token"));
    const project = await projects.byId(call.projectId);
    if (project === null || !isStatusAddressOf(project, call)) throw new Withheld(newReason("notify_moved"));
    return { token, url: statusUrlOf(project, call.url, trusted) };
  }

  async function prepareStatus(call: Sendable, api: StoredStatusApi): Promise<PreparedCall> {
    const { token, url } = await tokenFor(call);
    const { parameter } = api.token;
    const body = parameter === undefined ? call.body : withField(call.body, parameter, token);
    const request = { url, headers: { ...commonHeaders, ...api.token.headersOf(token) }, body };
    const lookUp = statusLookUp({ ...call, url }, api, request, token);
    return { request, ...(lookUp ? { lookUp } : {}), secrets: [token] };
  }

  async function addressOf(projectId: number, targetId: string): Promise<TargetAddress | undefined> {
    if (targetId !== defaultTargetId)
      return (await openAddresses(projects, secrets, projectId, [targetId])).get(targetId);
    const stored = await readDefaultTarget(meta);
    return stored === null ? undefined : openDefaultAddress(secrets, stored);
  }

  async function prepareNotification(call: Sendable): Promise<PreparedCall> {
    const { projectId, targetId, messageId, proof } = call;
    const address = await addressOf(projectId, targetId ?? "");
    if (address === undefined) throw new Withheld(newReason("notify_removed"));
    if (proof === "push") return { request: { url: address.url, headers: {}, body: call.body }, secrets: [] };
    const hidden = [...partsOf(address.url), ...(address.secret === null ? [] : [address.secret])];
    if (isChatFormat(proof)) {
      const { url, body } = chatRequest(proof, address, call.body, clock.now());
      return { request: { url, headers: commonHeaders, body }, secrets: hidden };
    }
    const isDefault = targetId === defaultTargetId;
    const key = isDefault ? address.secret : await secretOf(projectId, reservedSecrets.notify);
    const signed = webhookHeaders(messageId, Math.floor(clock.now() / 1000), call.body, key);
    // For receivers of our own format only: a chat service has no use for it.
    const traced = call.traceparent ? { traceparent: call.traceparent } : {};
    const headers = { ...commonHeaders, ...traced, ...signed };
    const request = { url: address.url, headers, body: call.body };
    return { request, secrets: key === null ? hidden : [...hidden, key] };
  }

  return (call) => {
    const api = statusApiOf(call.proof);
    return api === null ? prepareNotification(call) : prepareStatus(call, api);
  };
}

/** A skipped push must not replace a status, and at some hosts a status is changed by another call than it is created by. */
function statusLookUp(
  call: Sendable,
  api: StoredStatusApi,
  request: GuardedRequest,
  token: string,
): PreparedCall["lookUp"] {
  const isSkipped = isSkippedStatus(call);
  if (!isSkipped && api.changeUrl === undefined) return undefined;
  const body = JSON.parse(call.body) as Record<string, unknown>;
  const url = new URL(api.lookUpUrl(call.url, body));
  if (api.token.parameter !== undefined) url.searchParams.set(api.token.parameter, token);
  return {
    request: { method: "GET", url: url.href, headers: request.headers, body: "" },
    next({ status, body: text }) {
      const answer = { status, json: parseJson(text) };
      const isListed = api.isListed(answer, body);
      if (isListed === "unknown") return "unknown";
      if (!isListed) return request;
      if (isSkipped) return "done";
      const changed = api.changeUrl?.(request.url, answer, body) ?? null;
      return changed === null ? "unknown" : { ...request, method: "PATCH", url: changed };
    },
  };
}

function withField(body: string, name: string, value: string): string {
  return JSON.stringify({ [name]: value, ...(JSON.parse(body) as object) });
}

const minHiddenLength = 6;

/** The address and its parts that may be a credential. */
function partsOf(url: string): string[] {
  const { pathname, searchParams, username, password } = new URL(url);
  const parts = [...pathname.split("/"), ...searchParams.values(), username, password];
  return [url, ...parts.filter((part) => part.length >= minHiddenLength)];
}
