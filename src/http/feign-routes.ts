import type { Server } from "bun";
import { Fault, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Gateway } from "../push/gateway.ts";
import { isRefusal, type PublishRefusal, readPublish } from "../push/publish-request.ts";
import type { Published } from "../push/publisher.ts";
import { clientMessageStream } from "./client-message-stream.ts";
import { connectionsReport } from "./connections-report.ts";
import { readChannelOrder, readDisconnect, readJsonText } from "./feign-bodies.ts";
import type { FeignCredentials } from "./feign-credentials.ts";
import { fail, failUnavailable, succeed } from "./feign-envelope.ts";
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
    "/feign/publish": on("POST", (request) => publish(gateway, request, options.maxMessageBytes)),
    "/feign/getOnlineUsers": on("GET", () => succeed(gateway.connections.onlineUsers())),
    "/feign/disconnect": on("POST", (request) => disconnect(gateway, request)),
    "/feign/connections": on("GET", (request) => {
      const userId = new URL(request.url).searchParams.get("userId");
      return succeed(connectionsReport(gateway, userId));
    }),
    "/feign/channels/join": on("POST", (request) => moveChannel(gateway, "join", request)),
    "/feign/channels/leave": on("POST", (request) => moveChannel(gateway, "leave", request)),
    "/feign/client-messages": on("GET", (request) =>
      clientMessageStream(gateway.clientMessages, request.signal),
    ),
    "/feign/*": (request, server) =>
      refusalOf(options, request, server) ?? fail(404, 40401, "There is no such operation under /feign."),
  };
}

function guarded(options: FeignOptions, method: "GET" | "POST", operation: Operation): Handler {
  return async (request, server) => {
    const refusal = refusalOf(options, request, server);
    if (refusal) return refusal;
    if (request.method !== method) return fail(405, 40501, `Use ${method} here.`, { allow: method });
    try {
      return await operation(request);
    } catch (error) {
      if (error instanceof Fault && error.code === "unavailable") return failUnavailable(error);
      options.log.error({ error: messageOf(error) }, "a /feign request failed");
      return fail(500, 50001, "Something went wrong on our side; the log has the details.");
    }
  };
}

function refusalOf(
  { credentials }: FeignOptions,
  request: Request,
  server: Server<unknown>,
): Response | null {
  return credentials.refusalOf(request, () => server.requestIP(request)?.address ?? "");
}

async function publish(gateway: Gateway, request: Request, maxMessageBytes: number): Promise<Response> {
  // Escaped, one byte of data can take six in the body.
  const text = await readJsonText(request, 6 * maxMessageBytes + 64 * 1024);
  if (typeof text !== "string") return text;
  const reading = readPublish(text, maxMessageBytes);
  const published = isRefusal(reading)
    ? reading
    : await gateway.publisher.publish(reading, request.headers.get("idempotency-key"));
  return publishAnswer(published, gateway.publisher.successText);
}

function publishAnswer(published: Published | PublishRefusal, successText: string): Response {
  if ("status" in published) return fail(published.status, published.code, published.message);
  const headers: Record<string, string> = { "x-push-id": published.id };
  if (published.receivers !== null) headers["x-push-receivers"] = String(published.receivers);
  return succeed(successText, headers);
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
