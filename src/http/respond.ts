import { Fault, type FieldFault, httpStatusOf, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";

/** The shape of all errors of the management API. */
export interface ErrorBody {
  error: { code: string; message: string; fields?: FieldFault[] };
}

export function faultResponse(fault: Fault): Response {
  const error: ErrorBody["error"] = { code: fault.code, message: fault.message };
  if (fault.fields) error.fields = fault.fields;
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
export function thrownResponse(thrown: unknown, log: Log, requestId: string): Response {
  if (thrown instanceof Fault && thrown.code === "unavailable") {
    log.warn({ requestId, error: thrown.message }, "request could not be served");
    const { retryAfterSeconds = 1 } = thrown;
    return faultResponse(new Fault("unavailable", unavailableMessage, { retryAfterSeconds }));
  }
  if (thrown instanceof Fault && thrown.code !== "internal") return faultResponse(thrown);
  log.error(
    { requestId, error: messageOf(thrown), stack: thrown instanceof Error ? thrown.stack : undefined },
    "request failed",
  );
  const message = `Something went wrong on our side. The log has the details under request id ${requestId}.`;
  return faultResponse(new Fault("internal", message));
}

const unavailableMessage =
  "A required part of the server does not answer or is too busy; try again in a moment. See /readyz.";
