import type { Server } from "bun";
import { Fault, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Gateway } from "../push/gateway.ts";
import { isRefusal, type PublishRefusal, readPublish } from "../push/publish-request.ts";
import type { Published } from "../push/publisher.ts";
import { clientMessageStream } from "./client-message-stream.ts";
import { connectionsReport } from "./connections-report.ts";
import { readChannelOrder, readDisconnect, readGrant, readJsonText } from "./feign-bodies.ts";
import type { FeignCredentials } from "./feign-credentials.ts";
import { fail, failUnavailable, publishSuccess, succeed } from "./feign-envelope.ts";
import type { Handler, Routes } from "./server.ts";

export interface FeignOptions {
  credentials: FeignCredentials;
  maxMessageBytes: number;
  log: Log;
}

type Operation = (request: Request) => Response | Promise<Response>;

/** What other services call. Every answer, also to what does not exist, is one of the two envelopes. */
export function feignRoutes(gateway: Gateway, options: FeignOptions): Routes {
  const on = (method: "GET" | "POST", operation: Operation) => guarded(options, method, operation);
  return {
    "/feign/publish": on("POST", publisherOf(gateway, options.maxMessageBytes)),
    "/feign/getOnlineUsers": on("GET", (request) => {
      const scope = new URL(request.url).searchParams.get("scope");
      const isCluster = scope === "cluster";
      return succeed(isCluster ? gateway.onlineUsersOfCluster() : gateway.connections.onlineUsers());
    }),
    "/feign/disconnect": on("POST", (request) => disconnect(gateway, request)),
    "/feign/connections": on("GET", (request) => {
      const userId = new URL(request.url).searchParams.get("userId");
      return succeed(connectionsReport(gateway, userId));
    }),
    "/feign/channels/join": on("POST", (request) => moveChannel(gateway, "join", request)),
    "/feign/channels/leave": on("POST", (request) => moveChannel(gateway, "leave", request)),
    "/feign/channels/grant": on("POST", (request) => grant(gateway, request)),
    "/feign/client-messages": on("GET", (request) =>
      clientMessageStream(gateway.clientMessages, request.signal),
    ),
    "/feign/*": (request, server) =>
      refusalOf(options, request, server) ?? fail(404, 40401, "There is no such operation under /feign."),
  };
}

function guarded(options: FeignOptions, method: "GET" | "POST", operation: Operation): Handler {
  const failed = (error: unknown) => failureOf(error, options.log);
  return (request, server) => {
    const refusal = refusalOf(options, request, server);
    if (refusal) return refusal;
    if (request.method !== method) return fail(405, 40501, `Use ${method} here.`, { allow: method });
    try {
      const answer = operation(request);
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  };
}

function failureOf(error: unknown, log: Log): Response {
  if (error instanceof Fault && error.code === "unavailable") return failUnavailable(error);
  log.error({ error: messageOf(error) }, "a /feign request failed");
  return fail(500, 50001, "Something went wrong on our side; the log has the details.");
}

function refusalOf(
  { credentials }: FeignOptions,
  request: Request,
  server: Server<unknown>,
): Response | null {
  return credentials.refusalOf(request, server);
}

/** The hot path: it waits for the body, and for the bus only where there is something to wait for. */
function publisherOf({ publisher }: Gateway, maxMessageBytes: number): Operation {
  const success = publishSuccess(publisher.successText);
  // Escaped, one byte of data can take six in the body.
  const maxBodyBytes = 6 * maxMessageBytes + 64 * 1024;

  function answer(published: Published | PublishRefusal): Response {
    return isRefusal(published)
      ? fail(published.status, published.code, published.message)
      : success(published.id, published.receivers);
  }

  function publish(text: string | Response, key: string | null): Response | Promise<Response> {
    if (typeof text !== "string") return text;
    const reading = readPublish(text, maxMessageBytes);
    if (isRefusal(reading)) return answer(reading);
    const publishing = key === null ? publisher.publish(reading) : publisher.publishOnce(reading, key);
    return publishing instanceof Promise ? publishing.then(answer) : answer(publishing);
  }

  return (request) => {
    const reading = readJsonText(request, maxBodyBytes);
    if (reading instanceof Response) return reading;
    const key = request.headers.get("idempotency-key");
    return reading.then((text) => publish(text, key));
  };
}

async function disconnect(gateway: Gateway, request: Request): Promise<Response> {
  const order = await readDisconnect(request);
  if (order instanceof Response) return order;
  const count = await gateway.control.disconnect(order.who, order.closeCode);
  return succeed("disconnect success", { "x-push-connections": String(count) });
}

async function moveChannel(gateway: Gateway, move: "join" | "leave", request: Request): Promise<Response> {
  const order = await readChannelOrder(request);
  if (order instanceof Response) return order;
  const count = await gateway.control[move](order.userId, order.channel);
  return succeed(`${move} success`, { "x-push-connections": String(count) });
}

async function grant(gateway: Gateway, request: Request): Promise<Response> {
  const order = await readGrant(request);
  if (order instanceof Response) return order;
  await gateway.control.grant(order.userId, order.channels);
  return succeed("grant success");
}
