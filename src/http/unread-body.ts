import { buildBodyDeadline } from "./body-deadline.ts";

/** As for the bodies of strangers that are read. */
const timeoutMs = 10_000;
const inTime = buildBodyDeadline(timeoutMs, () => "too_late" as const);

/**
 * Bounds the time of a body that the handler did not read. The runtime would discard such a body for as long as its sender
 * wants to send it, so that a stranger could keep the connection. The rest is awaited before the response is sent: a sender
 * that is interrupted while writing reports a broken connection instead of the response.
 */
export function afterUnreadBody(
  request: Request,
  response: Response | undefined,
): Response | undefined | Promise<Response> {
  if (response === undefined || request.bodyUsed) return response;
  const { body, headers } = request;
  // The runtime gives no body of a GET or HEAD, but waits for one that is announced.
  if (body === null) return announcesBody(headers) ? closing(response) : response;
  if (body.locked) return closing(response);
  return inTime(discard(body)).then((end) => (end === "too_late" ? closing(response) : response));
}

function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) !== 0;
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  try {
    while (!(await reader.read()).done);
  } catch {
    // The sender has disconnected.
  }
}

function closing(response: Response): Response {
  response.headers.set("connection", "close");
  return response;
}
