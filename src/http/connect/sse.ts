import type { Server } from "bun";
import { type RefusalReason, refusals } from "../../push/admission/refusals.ts";
import type { Connection } from "../../push/connection/connection.ts";
import type { EventSink } from "../../push/fanout/event-stream.ts";
import type { Gateway } from "../../push/gateway.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { namedEvent, retryField } from "../../push/message/server-sent-event.ts";
import { fail } from "../feign/feign-envelope.ts";
import type { Handler } from "../server.ts";
import { type HandshakeOptions, handshakeHandler, refusalResponse } from "./handshake.ts";
import { type FrameOptions, framesHandler } from "./stream-frames.ts";

/** A client that reads nothing for this long after its stream was closed is disconnected. */
const flushSeconds = 8;
/** An EventSource would present its refused code again at once. After a temporary refusal it may succeed. */
const refusedRetryMs = { final: 3_600_000, temporary: 60_000 };

/** `/sse`: `GET` opens an event stream, or refuses; `POST` takes a frame of a client for its stream. */
export function sseHandler(gateway: Gateway, options: HandshakeOptions & FrameOptions): Handler {
  const connect = handshakeHandler(gateway, options, {
    asksConnection: () => true,
    parametersOf: (request, query) => ({
      isV1: true,
      stream: gateway.streams.newName(),
      resumeId: query.get("resume") ?? request.headers.get("last-event-id"),
    }),
    open: (request, server, connection) =>
      request.signal.aborted ? null : { response: streamResponse(gateway, request, server, connection) },
    refuse: (request, _server, reason) => refusal(request, reason),
  });
  const receive = framesHandler(gateway, options);
  return (request, server) => {
    if (request.method === "GET") return connect(request, server);
    if (request.method === "POST") return receive(request, server);
    return fail(failureCodes.method, "Use GET or POST here.", { allow: "GET, POST" });
  };
}

function streamResponse(
  gateway: Gateway,
  request: Request,
  server: Server<unknown>,
  connection: Connection,
): Response {
  // The runtime would end a stream that is silent for a while.
  server.timeout(request, 0);
  const stream = gateway.streams.open(connection, server.requestIP(request)?.address ?? "");
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const body = new ReadableStream({
    type: "direct",
    pull(controller: Pick<EventSink, "write" | "end">) {
      stream.start({
        write: (bytes) => controller.write(bytes),
        hurry: () => server.timeout(request, flushSeconds),
        end() {
          controller.end();
          end();
        },
      });
      return ended;
    },
    cancel() {
      stream.disconnected();
      end();
    },
  } as unknown as UnderlyingDefaultSource);
  return new Response(body, { headers: { ...streamHeaders, ...readableBy(request) } });
}

/** A client that names the type can read the event; others get the status. */
function refusal(request: Request, reason: RefusalReason): Response {
  if (!request.headers.get("accept")?.includes(eventStreamType)) return refusalResponse(reason);
  const { status, code, closeCode, message, retryAfterSeconds } = refusals[reason];
  const retryMs = refusedRetryMs[retryAfterSeconds === null ? "final" : "temporary"];
  const event = namedEvent("refused", {
    status,
    code,
    closeCode,
    reason: message,
    retryAfter: retryAfterSeconds,
  });
  // A page of any origin may read why it was refused.
  const headers = { ...streamHeaders, "access-control-allow-origin": "*" };
  return new Response(Buffer.concat([retryField(retryMs), event]), { headers });
}

/** Pages of allowed origins read the stream, as they would read a WebSocket. */
function readableBy(request: Request): Record<string, string> {
  const origin = request.headers.get("origin");
  return origin === null ? {} : { "access-control-allow-origin": origin, vary: "origin" };
}

const eventStreamType = "text/event-stream";

const streamHeaders = {
  "content-type": eventStreamType,
  "cache-control": "no-store",
  // nginx passes each event on at once.
  "x-accel-buffering": "no",
};
