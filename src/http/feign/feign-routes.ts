import { Fault, messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { isConsoleChannel, isConsoleTarget, isConsoleUser } from "../../model/console-names.ts";
import type { Gateway } from "../../push/gateway.ts";
import { isRefusal, type PublishRefusal, readPublish } from "../../push/message/publish-request.ts";
import type { Published } from "../../push/publish/publisher.ts";
import { clientMessageStream } from "../client-message-stream.ts";
import { connectionsReport } from "../connections-report.ts";
import type { CallerRules } from "../deploy-service-mark.ts";
import { addressOf } from "../request-address.ts";
import type { Handler, Routes } from "../server.ts";
import { readChannelOrder, readDisconnect, readGrant, readJsonText } from "./feign-bodies.ts";
import { fail, failUnavailable, publishSuccess, succeed, succeedForConnections } from "./feign-envelope.ts";
import { type FeignHead, feignHeadOf } from "./feign-head.ts";

export interface FeignOptions {
  callers: CallerRules;
  maxMessageBytes: number;
  log: Log;
}

type Operation = (request: Request, head: FeignHead) => Response | Promise<Response>;

/** What other services call. Every answer, also to what does not exist, is one of the two envelopes. */
export function feignRoutes(gateway: Gateway, options: FeignOptions): Routes {
  const on = (method: "GET" | "POST", operation: Operation) => guarded(options, method, operation);
  const nothing: Handler = (request, server) =>
    options.callers.refusalOf(feignHeadOf(request.headers), request, server) ??
    fail(404, 40401, "There is no such operation under /feign.");
  return {
    "/feign/publish": on("POST", publisherOf(gateway, options)),
    "/feign/getOnlineUsers": on("GET", (request) => {
      const scope = addressOf(request).searchParams.get("scope");
      const isCluster = scope === "cluster";
      return succeed(isCluster ? gateway.onlineUsersOfCluster() : gateway.connections.onlineUsers());
    }),
    "/feign/disconnect": on("POST", (request, head) => disconnect(gateway, options.callers, request, head)),
    "/feign/connections": on("GET", (request) => {
      const userId = addressOf(request).searchParams.get("userId");
      return succeed(connectionsReport(gateway, userId));
    }),
    "/feign/channels/join": on("POST", (request, head) =>
      moveChannel(gateway, options.callers, "join", request, head),
    ),
    "/feign/channels/leave": on("POST", (request, head) =>
      moveChannel(gateway, options.callers, "leave", request, head),
    ),
    "/feign/channels/grant": on("POST", (request, head) => grant(gateway, options.callers, request, head)),
    "/feign/client-messages": on("GET", (request) =>
      clientMessageStream(gateway.clientMessages, request.signal),
    ),
    "/feign": nothing,
    "/feign/*": nothing,
  };
}

function guarded(options: FeignOptions, method: "GET" | "POST", operation: Operation): Handler {
  const failed = (error: unknown) => failureOf(error, options.log);
  return (request, server) => {
    const head = feignHeadOf(request.headers);
    const refusal = options.callers.refusalOf(head, request, server);
    if (refusal) return refusal;
    if (request.method !== method) return fail(405, 40501, `Use ${method} here.`, { allow: method });
    try {
      const answer = operation(request, head);
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  };
}

function failureOf(error: unknown, log: Log): Response {
  if (error instanceof Fault && error.code === "unavailable") return failUnavailable(error);
  if (error instanceof Fault && error.code === "too_large") return fail(413, 41301, error.message);
  log.error({ error: messageOf(error) }, "a /feign request failed");
  return fail(500, 50001, "Something went wrong on our side; the log has the details.");
}

/** The hot path: it waits for the body, and for the bus only where there is something to wait for. */
function publisherOf({ publisher }: Gateway, { maxMessageBytes, callers }: FeignOptions): Operation {
  const success = publishSuccess(publisher.successText);
  // Escaped, one byte of data can take six in the body.
  const maxBodyBytes = 6 * maxMessageBytes + 64 * 1024;

  function answer(published: Published | PublishRefusal): Response {
    return isRefusal(published)
      ? fail(published.status, published.code, published.message)
      : success(published.id, published.receivers);
  }

  function publish(text: string | Response, head: FeignHead): Response | Promise<Response> {
    if (typeof text !== "string") return text;
    const reading = readPublish(text);
    if (isRefusal(reading)) return answer(reading);
    const { targetType, target } = reading;
    if (isConsoleTarget(targetType, target) && !callers.mayActForConsole(head)) return belongsToConsole();
    const { idempotencyKey: key } = head;
    const publishing = key === null ? publisher.publish(reading) : publisher.publishOnce(reading, key);
    return publishing instanceof Promise ? publishing.then(answer) : answer(publishing);
  }

  return (request, head) => {
    const reading = readJsonText(request, head, maxBodyBytes);
    if (reading instanceof Response) return reading;
    return reading.then((text) => publish(text, head));
  };
}

async function disconnect(
  gateway: Gateway,
  callers: CallerRules,
  request: Request,
  head: FeignHead,
): Promise<Response> {
  const order = await readDisconnect(request, head);
  if (order instanceof Response) return order;
  const isConsole = "userId" in order.who && isConsoleUser(order.who.userId);
  if (isConsole && !callers.mayActForConsole(head)) return belongsToConsole();
  const count = await gateway.control.disconnect(order.who, order.closeCode);
  return succeedForConnections("disconnect success", count);
}

async function moveChannel(
  gateway: Gateway,
  callers: CallerRules,
  move: "join" | "leave",
  request: Request,
  head: FeignHead,
): Promise<Response> {
  const order = await readChannelOrder(request, head);
  if (order instanceof Response) return order;
  const isConsole = isConsoleChannel(order.channel) || isConsoleUser(order.userId);
  if (isConsole && !callers.mayActForConsole(head)) return belongsToConsole();
  const count = await gateway.control[move](order.userId, order.channel);
  return succeedForConnections(`${move} success`, count);
}

async function grant(
  gateway: Gateway,
  callers: CallerRules,
  request: Request,
  head: FeignHead,
): Promise<Response> {
  const order = await readGrant(request, head);
  if (order instanceof Response) return order;
  if (isConsoleUser(order.userId) && !callers.mayActForConsole(head)) return belongsToConsole();
  const count = await gateway.control.grant(order.userId, order.channels);
  return succeedForConnections("grant success", count);
}

function belongsToConsole(): Response {
  return fail(
    403,
    40303,
    "User ids slipway:… and channels private-project-… belong to the console of the deploy service; use other names.",
  );
}
