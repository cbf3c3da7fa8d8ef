import type { Fault } from "../../errors.ts";
import type { ClusterAnswers } from "../../push/cluster-questions.ts";
import { type FailureCode, failureCodes, statusOf } from "../../push/message/failure-codes.ts";
import { refusal } from "../../push/message/publish-request.ts";

/** The success envelope of the specification. */
export function succeed(data: unknown): Response {
  return answerJson(successBody(data), 200);
}

/** Success of a call on connections: `msg` contains their number, because Feign callers see no headers. */
export function succeedForConnections(data: string, count: number): Response {
  const msg = `${count} ${count === 1 ? "connection" : "connections"} on this instance`;
  return answerJson(successBody(data, msg), 200, { "x-push-connections": String(count) });
}

/** Success of a disconnect on all instances: the closed connections with their instances. */
export function succeedForCluster({ answers, missing }: ClusterAnswers): Response {
  const connections = answers.flatMap(({ instance, answer }) =>
    (answer as object[]).map((connection) => ({ ...connection, instance })),
  );
  const count = `${connections.length} ${connections.length === 1 ? "connection" : "connections"}`;
  const msg =
    missing.length === 0
      ? `${count} on all instances`
      : `${count}; without an answer in time from ${missing.join(", ")}`;
  return answerJson(successBody({ connections, missing }, msg), 200, {
    "x-push-connections": String(connections.length),
  });
}

/**
 * Success of a publish. A hot path: the body is always the same text, and one Headers object is changed for each response,
 * because a response copies its headers.
 */
export function publishSuccess(text: string): (id: string, receivers: number | null) => Response {
  const body = successBody(text);
  const headers = new Headers({ "content-type": contentType });
  let lastReceivers: number | null = null;
  return (id, receivers) => {
    headers.set("x-push-id", id);
    if (receivers === null) headers.delete("x-push-receivers");
    else if (receivers !== lastReceivers) headers.set("x-push-receivers", String(receivers));
    lastReceivers = receivers;
    return new Response(body, { headers });
  };
}

function successBody(data: unknown, msg: string | null = null): string {
  return `{"code":0,"successful":true,"msg":${JSON.stringify(msg)},"data":${JSON.stringify(data)},"encrypt":false}`;
}

/** The failure envelope: exactly three fields. */
export function fail(code: FailureCode, message: string, headers?: Record<string, string>): Response {
  return answerJson(JSON.stringify({ code, successful: false, message }), statusOf(code), headers);
}

/** Why a name of the console is refused. */
export const consoleRefusal = refusal(
  failureCodes.consoleName,
  "User ids slipway:… and channels private-project-… belong to the console of the deploy service; use other names.",
);

/** A temporary failure of the server. */
export function failUnavailable(fault: Fault): Response {
  return fail(failureCodes.unavailable, fault.message, {
    "retry-after": String(fault.retryAfterSeconds ?? 1),
  });
}

const contentType = "application/json;charset=utf-8";

function answerJson(body: string, status: number, headers: Record<string, string> = {}): Response {
  headers["content-type"] = contentType;
  return new Response(body, { status, headers });
}
