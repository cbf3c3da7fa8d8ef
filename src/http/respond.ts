import { Fault, httpStatusOf, messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { newReason, type Sentence } from "../reason/reason.ts";
import { reasonJson } from "../reason/reason-json.ts";

interface Translatable {
  /** The message by code and values; empty: a text without a code, for example the message of a program. */
  messageParts: Sentence[];
}

/** The shape of all errors of the management API. */
export interface ErrorBody {
  error: {
    code: string;
    message: string;
    fields?: ({ field: string; message: string } & Translatable)[];
  } & Translatable;
}

export function faultResponse(fault: Fault): Response {
  const error: ErrorBody["error"] = { code: fault.code, ...reasonJson({ message: fault.reason }) };
  if (fault.fields)
    error.fields = fault.fields.map(({ field, message }) => ({ field, ...reasonJson({ message }) }));
  const headers = new Headers();
  if (fault.retryAfterSeconds !== undefined) headers.set("retry-after", String(fault.retryAfterSeconds));
  // Do not wait for the rest of a late body.
  if (fault.code === "too_late") headers.set("connection", "close");
  if (fault.code === "unauthenticated") headers.set("www-authenticate", 'Bearer realm="slipway"');
  return Response.json({ error } satisfies ErrorBody, { status: httpStatusOf[fault.code], headers });
}

/**
 * The response to a thrown error. The text of a bug or of an `unavailable` fault may name hosts and files, so it goes only
 * to the log, with the request id.
 */
export function thrownResponse(thrown: unknown, log: Logger, requestId: string): Response {
  if (thrown instanceof Fault && thrown.code === "unavailable" && !thrown.isShown) {
    log.warn({ requestId, error: thrown.message }, "request could not be served");
    const { retryAfterSeconds = 1 } = thrown;
    return faultResponse(new Fault("unavailable", newReason("unavailable"), { retryAfterSeconds }));
  }
  if (thrown instanceof Fault && thrown.code !== "internal") return faultResponse(thrown);
  log.error(
    { requestId, error: messageOf(thrown), stack: thrown instanceof Error ? thrown.stack : undefined },
    "request failed",
  );
  return faultResponse(new Fault("internal", newReason("failed", { request: requestId })));
}
