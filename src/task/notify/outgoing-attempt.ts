import { thrownReason } from "../../errors.ts";
import type { NewOutgoingCall, OutgoingCall } from "../../model/outgoing-call.ts";
import { mapTexts, newReason, type Reason } from "../../reason/reason.ts";
import { visibleText } from "../../visible-text.ts";
import { isChatFormat } from "./chat-formats.ts";
import { chatAnswerFault } from "./chat-request.ts";
import { ForbiddenAddress, type GuardedRequest, type OutgoingAnswer } from "./guarded-request.ts";
import { type PrepareCall, type PreparedCall, Withheld } from "./outgoing-request.ts";

/** The result of one attempt. */
export interface AttemptResult {
  isDelivered: boolean;
  /** Null: there was no response. */
  status: number | null;
  /** Why it was not delivered; empty: it was delivered. */
  fault: Reason;
  /** A further attempt would not change the result. */
  isFinal: boolean;
  /** First characters of the response. */
  response: string;
}

export interface AttemptOptions {
  prepare: PrepareCall;
  send(request: GuardedRequest, kind: NewOutgoingCall["kind"]): Promise<OutgoingAnswer>;
}

const maxResponse = 200;
const alreadyThere = "nothing was sent: the commit has a status already";

/** Sends a call once. Never throws. */
export async function attemptCall(
  call: NewOutgoingCall & Partial<Pick<OutgoingCall, "traceparent">>,
  { prepare, send }: AttemptOptions,
): Promise<AttemptResult> {
  let prepared: PreparedCall | null = null;
  try {
    prepared = await prepare(call);
    let { request } = prepared;
    if (prepared.lookUp) {
      const found = await send(prepared.lookUp.request, call.kind);
      const next = prepared.lookUp.next(found);
      if (next === "done") return delivered({ status: found.status, body: alreadyThere }, []);
      if (next === "unknown") return refused(newReason("notify_look_up"), found, prepared.secrets);
      request = next;
    }
    const answer = await send(request, call.kind);
    const fault = answerFault(call.proof, answer);
    return fault === null ? delivered(answer, prepared.secrets) : refused(fault, answer, prepared.secrets);
  } catch (error) {
    return {
      isDelivered: false,
      status: null,
      fault: mapTexts(thrownReason(error), (text) => hidden(text, prepared?.secrets ?? [])),
      isFinal: error instanceof ForbiddenAddress || error instanceof Withheld,
      response: "",
    };
  }
}

function answerFault(proof: string, answer: OutgoingAnswer): Reason | null {
  if (answer.status < 200 || answer.status >= 300)
    return newReason("notify_status", { status: answer.status });
  return isChatFormat(proof) ? chatAnswerFault(proof, answer) : null;
}

function delivered({ status, body }: OutgoingAnswer, secrets: string[]): AttemptResult {
  return { isDelivered: true, status, fault: "", isFinal: false, response: excerpt(body, secrets) };
}

function refused(fault: Reason, { status, body }: OutgoingAnswer, secrets: string[]): AttemptResult {
  return {
    isDelivered: false,
    status,
    fault: mapTexts(fault, (text) => excerpt(text, secrets)),
    isFinal: isFinal(status),
    response: excerpt(body, secrets),
  };
}

/** A client error stays the same at the next attempt, except "too early" and "too many requests". */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
}

function excerpt(text: string, secrets: string[]): string {
  const cut = (whole: string) => [...whole.slice(0, 2 * maxResponse)].slice(0, maxResponse).join("");
  return cut(visibleText(cut(hidden(text, secrets))));
}

/** Receivers may repeat the request in their response. */
function hidden(text: string, secrets: string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "•••"), text);
}
