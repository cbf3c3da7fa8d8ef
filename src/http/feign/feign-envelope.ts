import type { Fault } from "../../errors.ts";

/** The success envelope, field for field. */
export function succeed(data: unknown): Response {
  return answerJson(successBody(data), 200);
}

/** Success of a call about connections: `msg` contains their number, because Feign callers see no headers. */
export function succeedForConnections(data: string, count: number): Response {
  const msg = `${count} ${count === 1 ? "connection" : "connections"} on this instance`;
  return answerJson(successBody(data, msg), 200, { "x-push-connections": String(count) });
}

/**
 * Of a publish: the envelope is the same each time, so it is written once; what differs stands in headers, which a
 * response copies from the ones it is given.
 */
export function publishSuccess(text: string): (id: string, receivers: number | null) => Response {
  const body = successBody(text);
  const headers = new Headers({ "content-type": contentType });
  let told: number | null = null;
  return (id, receivers) => {
    headers.set("x-push-id", id);
    if (receivers !== told && receivers !== null) headers.set("x-push-receivers", String(receivers));
    told = receivers;
    return new Response(body, { headers });
  };
}

function successBody(data: unknown, msg: string | null = null): string {
  return `{"code":0,"successful":true,"msg":${JSON.stringify(msg)},"data":${JSON.stringify(data)},"encrypt":false}`;
}

/** The failure envelope: exactly three fields. */
export function fail(
  status: number,
  code: number,
  message: string,
  headers?: Record<string, string>,
): Response {
  return answerJson(JSON.stringify({ code, successful: false, message }), status, headers);
}

/** What could not be done now, through no fault of the caller. */
export function failUnavailable(fault: Fault): Response {
  return fail(503, 50301, fault.message, { "retry-after": String(fault.retryAfterSeconds ?? 1) });
}

const contentType = "application/json;charset=utf-8";

function answerJson(body: string, status: number, headers: Record<string, string> = {}): Response {
  headers["content-type"] = contentType;
  return new Response(body, { status, headers });
}
