import { Fault, type FieldFault, httpStatusOf, messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { answerParts, type ReasonPart, reasonText } from "../reason/reason.ts";

interface Translatable {
  /** The message by code and values; empty: a text without a code, for example the message of a program. */
  messageParts: ReasonPart[];
}

/** The shape of all errors of the management API. */
export interface ErrorBody {
  error: { code: string; message: string; fields?: (FieldFault & Translatable)[] } & Translatable;
}

export function faultResponse(fault: Fault): Response {
  const error: ErrorBody["error"] = withParts({ code: fault.code, message: fault.message });
  if (fault.fields) error.fields = fault.fields.map(withParts);
  const headers = new Headers();
  if (fault.retryAfterSeconds !== undefined) headers.set("retry-after", String(fault.retryAfterSeconds));
  // Do not wait for the rest of a late body.
  if (fault.code === "too_late") headers.set("connection", "close");
  if (fault.code === "unauthenticated") headers.set("www-authenticate", 'Bearer realm="slipway"');
  return Response.json({ error } satisfies ErrorBody, { status: httpStatusOf[fault.code], headers });
}

function withParts<T extends { message: string }>(said: T): T & Translatable {
  return { ...said, messageParts: answerParts(said.message) };
}

/**
 * The response to a thrown error. The text of a bug or of an `unavailable` fault may name hosts and files, so it goes only
 * to the log, with the request id.
 */
export function thrownResponse(thrown: unknown, log: Logger, requestId: string): Response {
  if (thrown instanceof Fault && thrown.code === "unavailable" && !thrown.isShown) {
    log.warn({ requestId, error: thrown.message }, "request could not be served");
    const { retryAfterSeconds = 1 } = thrown;
    return faultResponse(new Fault("unavailable", reasonText("unavailable"), { retryAfterSeconds }));
  }
  if (thrown instanceof Fault && thrown.code !== "internal") return faultResponse(thrown);
  log.error(
    { requestId, error: messageOf(thrown), stack: thrown instanceof Error ? thrown.stack : undefined },
    "request failed",
  );
  return faultResponse(new Fault("internal", reasonText("failed", { request: requestId })));
}
