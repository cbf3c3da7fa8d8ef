import { Fault, messageOf } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import { isConsoleChannel, isConsoleTarget, isConsoleUser } from "../../model/console/console-names.ts";
import type { ConnectionsReport } from "../../model/gateway/connections-report.ts";
import { clusterReport, connectionsReport } from "../../push/connections-report.ts";
import type { Gateway } from "../../push/gateway.ts";
import { isChannelName } from "../../push/message/channel-name.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { isRefusal, type PublishRefusal, readPublish } from "../../push/message/publish-request.ts";
import { presenceChannelPrefix } from "../../push/presence/channel-members.ts";
import { type CallHead, callHeadOf } from "../call-head.ts";
import { addressOf } from "../request-address.ts";
import type { Handler, Routes } from "../server.ts";
import { clientMessageStream } from "./client-message-stream.ts";
import { readDisconnect, readGrant, readJsonText, readMembership } from "./feign-bodies.ts";
import type { CallerRules } from "./feign-callers.ts";
import {
  consoleRefusal,
  fail,
  failUnavailable,
  publishSuccess,
  succeed,
  succeedForCluster,
  succeedForConnections,
} from "./feign-envelope.ts";
import { publishBatchOperation } from "./publish-batch.ts";
import { tracedMessage, tracedMessages } from "./traced-messages.ts";

/** The connections of this instance, on all of its workers. */
export interface InstanceReports {
  onlineUsers(): Promise<string[]>;
  connections(userId: string | null): Promise<ConnectionsReport>;
}

export interface FeignOptions {
  /** Null: this process has all connections. */
  instance: InstanceReports | null;
  callers: CallerRules;
  maxMessageBytes: number;
  log: Logger;
}

type Operation = (request: Request, head: CallHead) => Response | Promise<Response>;

/** The interface for other services. Every response, also for unknown paths, is one of the two envelopes. */
export function feignRoutes(gateway: Gateway, options: FeignOptions): Routes {
  const on = (method: "GET" | "POST", operation: Operation) => guarded(options, method, operation);
  const notFound: Handler = (request, server) =>
    options.callers.refusalOf(callHeadOf(request.headers), request, server) ??
    fail(failureCodes.noSuchOperation, "There is no such operation under /feign.");
  return {
    "/feign/publish": on("POST", publishOperation(gateway, options)),
    "/feign/publishBatch": on("POST", publishBatchOperation(gateway, options)),
    "/feign/getOnlineUsers": on("GET", (request) => {
      const scope = scopeOf(request);
      if (scope instanceof Response) return scope;
      if (scope === "cluster" && gateway.isCluster) return succeed(gateway.presence.users());
      return options.instance
        ? options.instance.onlineUsers().then(succeed)
        : succeed(gateway.connections.onlineUsers());
    }),
    "/feign/getChannelUsers": on("GET", (request) => channelUsers(gateway, request)),
    "/feign/disconnect": on("POST", (request, head) => disconnect(gateway, options.callers, request, head)),
    "/feign/connections": on("GET", (request, head) => reportConnections(gateway, options, request, head)),
    "/feign/messages": on("GET", (request, head) => tracedMessages(gateway, options.callers, request, head)),
    "/feign/messages/:id": on("GET", (request, head) =>
      tracedMessage(gateway, options.callers, request, head),
    ),
    "/feign/channels/join": on("POST", (request, head) =>
      changeMembership(gateway, options.callers, "join", request, head),
    ),
    "/feign/channels/leave": on("POST", (request, head) =>
      changeMembership(gateway, options.callers, "leave", request, head),
    ),
    "/feign/channels/grant": on("POST", (request, head) => grant(gateway, options.callers, request, head)),
    "/feign/client-messages": on("GET", (request) =>
      clientMessageStream(gateway.clientMessages, request.signal),
    ),
    "/feign": notFound,
    "/feign/*": notFound,
  };
}

function guarded(options: FeignOptions, method: "GET" | "POST", operation: Operation): Handler {
  const failed = (error: unknown) => failureOf(error, options.log);
  return (request, server) => {
    const head = callHeadOf(request.headers);
    const refusal = options.callers.refusalOf(head, request, server);
    if (refusal) return refusal;
    if (request.method !== method) return fail(failureCodes.method, `Use ${method} here.`, { allow: method });
    try {
      const answer = operation(request, head);
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  };
}

function failureOf(error: unknown, log: Logger): Response {
  if (error instanceof Fault && error.code === "unavailable") return failUnavailable(error);
  if (error instanceof Fault && error.code === "too_large") return fail(failureCodes.tooLarge, error.message);
  log.error({ error: messageOf(error) }, "a /feign request failed");
  return fail(failureCodes.internal, "Something went wrong on our side; the log has the details.");
}

/** A hot path. */
function publishOperation({ publisher }: Gateway, { maxMessageBytes, callers }: FeignOptions): Operation {
  const success = publishSuccess(publisher.successText);
  // JSON escapes one byte of data as up to six.
  const maxBodyBytes = 6 * maxMessageBytes + 64 * 1024;
  return async (request, head) => {
    const text = await readJsonText(request, head, maxBodyBytes);
    if (typeof text !== "string") return text;
    const publishRequest = readPublish(text);
    if (isRefusal(publishRequest))
      return refuse(publisher.refuse(parseJson(text), publishRequest, head.traceparent));
    if (head.traceparent !== null) publishRequest.traceparent = head.traceparent;
    const { targetType, target } = publishRequest;
    if (isConsoleTarget(targetType, target) && !callers.mayActForConsole(head))
      return refuse(publisher.refuse(publishRequest, consoleRefusal, head.traceparent));
    const { idempotencyKey: key } = head;
    const published =
      key === null
        ? await publisher.publish(publishRequest)
        : await publisher.publishOnce(publishRequest, { key, caller: callers.callerOf(head) });
    return isRefusal(published) ? refuse(published) : success(published.id, published.receivers);
  };
}

function refuse({ code, message }: PublishRefusal): Response {
  return fail(code, message);
}

/** Users in a presence channel, on all instances. */
function channelUsers({ presence }: Gateway, request: Request): Response {
  const channel = addressOf(request).searchParams.get("channel") ?? "";
  if (!isChannelName(channel) || !channel.startsWith(presenceChannelPrefix))
    return fail(
      failureCodes.target,
      `channel must be a channel name that starts with ${presenceChannelPrefix}: the users of other channels are not known.`,
    );
  return succeed(presence.users(channel));
}

async function disconnect(
  gateway: Gateway,
  callers: CallerRules,
  request: Request,
  head: CallHead,
): Promise<Response> {
  const scope = scopeOf(request);
  if (scope instanceof Response) return scope;
  const body = await readDisconnect(request, head);
  if (body instanceof Response) return body;
  const { selector, closeCode } = body;
  const mayActForConsole = callers.mayActForConsole(head);
  if ("userId" in selector && isConsoleUser(selector.userId) && !mayActForConsole) return belongsToConsole();
  const selected = "userId" in selector ? selector : { ...selector, exceptConsole: !mayActForConsole };
  if (scope === "cluster")
    return succeedForCluster(await gateway.control.disconnectEverywhere(selected, closeCode));
  const count = await gateway.control.disconnect(selected, closeCode);
  return succeedForConnections("disconnect success", count);
}

async function reportConnections(
  gateway: Gateway,
  { instance, callers }: FeignOptions,
  request: Request,
  head: CallHead,
): Promise<Response> {
  const scope = scopeOf(request);
  if (scope instanceof Response) return scope;
  const userId = addressOf(request).searchParams.get("userId");
  const mayActForConsole = callers.mayActForConsole(head);
  if (userId !== null && isConsoleUser(userId) && !mayActForConsole) return belongsToConsole();
  const report =
    scope === "cluster"
      ? clusterReport(await gateway.control.askConnections(userId), gateway.presence.userCount())
      : instance
        ? await instance.connections(userId)
        : connectionsReport(gateway, userId);
  if (mayActForConsole) return succeed(report);
  const { console: _, ...shown } = report;
  return succeed({ ...shown, channels: report.channels.filter(({ name }) => !isConsoleChannel(name)) });
}

/** A response: the parameter has a value that means nothing. */
function scopeOf(request: Request): "instance" | "cluster" | Response {
  const scope = addressOf(request).searchParams.get("scope");
  if (scope === null) return "instance";
  if (scope === "cluster") return scope;
  return fail(failureCodes.scope, "scope must be cluster; without it, the answer is about this instance.");
}

async function changeMembership(
  gateway: Gateway,
  callers: CallerRules,
  change: "join" | "leave",
  request: Request,
  head: CallHead,
): Promise<Response> {
  const body = await readMembership(request, head);
  if (body instanceof Response) return body;
  const isConsole = isConsoleChannel(body.channel) || isConsoleUser(body.userId);
  if (isConsole && !callers.mayActForConsole(head)) return belongsToConsole();
  const count = await gateway.control[change](body.userId, body.channel);
  return succeedForConnections(`${change} success`, count);
}

async function grant(
  gateway: Gateway,
  callers: CallerRules,
  request: Request,
  head: CallHead,
): Promise<Response> {
  const body = await readGrant(request, head);
  if (body instanceof Response) return body;
  if (isConsoleUser(body.userId) && !callers.mayActForConsole(head)) return belongsToConsole();
  const count = await gateway.control.grant(body.userId, body.channels);
  return succeedForConnections("grant success", count);
}

function belongsToConsole(): Response {
  return refuse(consoleRefusal);
}
