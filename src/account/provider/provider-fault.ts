import { Fault, type FaultCode, messageOf } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

/** What was seen of a conversation with a provider. */
export interface Conversation {
  /** It did not answer, or answered that it is broken. */
  isAway: boolean;
  /** Its last answer forbids the account what its token was used for. */
  isForbidden: boolean;
  /** Of its last answer; null: there was none. */
  status: number | null;
  /** How far its clock is ahead of ours; null: not known. */
  aheadMs: number | null;
}

interface Asked {
  title: string;
  redirectAddress: string;
  conversation: Conversation;
}

const maxText = 200;
/** Of providers that answer in the words of RFC 6749, and of GitHub, which does not. */
const clientRefused = new Set(["invalid_client", "unauthorized_client", "incorrect_client_credentials"]);
const grantRefused = new Set(["invalid_grant", "bad_verification_code", "bad_refresh_token"]);

/** Why a conversation with a provider failed, in words that say what to do. */
export function providerFault(error: unknown, { title, redirectAddress, conversation }: Asked): Fault {
  if (error instanceof Fault) return error;
  const { code, said, description, scheme, status } = factsOf(error);
  const fault = (kind: FaultCode, reason: Reason) => new Fault(kind, reason, { cause: error, isShown: true });
  if (conversation.isAway) return fault("unavailable", newReason("provider_away", { title }));
  if (said === "access_denied") return fault("forbidden", newReason("provider_denied", { title }));
  if (said !== "" && /redirect/i.test(`${said} ${description}`))
    return fault("conflict", newReason("provider_redirect", { title, address: redirectAddress }));
  if (clientRefused.has(said) || scheme === "basic")
    return fault("conflict", newReason("provider_client", { title }));
  if (grantRefused.has(said) || scheme !== "" || status === 401)
    return fault("unauthenticated", newReason("provider_code", { title }));
  if (said !== "") {
    const answer = `${said} ${description}`.trim().slice(0, maxText);
    return fault("conflict", newReason("provider_refused", { title, answer }));
  }
  if (conversation.isForbidden) return fault("forbidden", newReason("provider_forbids", { title }));
  if (code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED") {
    const seconds = Math.round(Math.abs(conversation.aheadMs ?? 0) / 1000);
    return fault("conflict", newReason("provider_clock", { title, seconds }));
  }
  if (conversation.status !== null && conversation.status >= 400)
    return fault("conflict", newReason("provider_status", { title, status: conversation.status }));
  return fault("unauthenticated", newReason("provider_answer", { title, why: whyOf(error) }));
}

function factsOf(error: unknown) {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const facts = (error ?? {}) as Record<string, unknown>;
  const { code, error: said, error_description: description, cause } = facts;
  const status = cause instanceof Response ? cause.status : null;
  // The challenge of a refused request: of the client's secret at the one address, of the token at the others.
  const [challenge] = Array.isArray(cause) ? (cause as { scheme?: unknown }[]) : [];
  const scheme = text(challenge?.scheme).toLowerCase();
  return { code: text(code), said: text(said), description: text(description), scheme, status };
}

function whyOf(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(inner).slice(0, maxText);
}
