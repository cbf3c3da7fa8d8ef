import type { WebSocketHandler } from "bun";
import type { Connection } from "../../push/connection/connection.ts";
import type { Gateway } from "../../push/gateway.ts";
import type { HandshakeOptions } from "../connect/handshake.ts";
import { sseHandler } from "../connect/sse.ts";
import { websocketHandler } from "../connect/websocket.ts";
import { type FeignOptions, feignRoutes } from "../feign/feign-routes.ts";
import type { Routes } from "../server.ts";

export interface PushRouteOptions {
  handshake: HandshakeOptions;
  feign: FeignOptions;
  clientMaxMessageBytes: number;
  /** Whether permessage-deflate is negotiated. */
  compresses: boolean;
}

/** One compressor for all connections: none keeps memory for it, and a message does not refer to earlier ones. */
const sharedDeflate = { compress: "shared", decompress: "shared" } as const;

export function pushRoutes(gateway: Gateway, options: PushRouteOptions): Routes {
  const { handshake, clientMaxMessageBytes } = options;
  return {
    "/ws": websocketHandler(gateway, handshake),
    "/sse": sseHandler(gateway, { ...handshake, clientMaxMessageBytes }),
    ...feignRoutes(gateway, options.feign),
    ...docsRoutes,
  };
}

const docsRoutes: Routes = {
  "/docs/push": { GET: async (request) => (await loadDocs()).page(request) },
  "/docs/push/openapi.json": { GET: async (request) => (await loadDocs()).json(request) },
};

/** Loaded when it is asked for: a gateway does not need the schemas. */
async function loadDocs() {
  return (await import("../feign/docs/feign-docs.ts")).feignDocs;
}

/** Idle timeout and pings of the runtime are off, because `Heartbeat` does both. */
export function pushSocketHandler(gateway: Gateway, options: PushRouteOptions): WebSocketHandler<Connection> {
  const { sockets } = gateway;
  return {
    maxPayloadLength: options.clientMaxMessageBytes,
    backpressureLimit: gateway.sendBuffers.runtimeLimitBytes,
    idleTimeout: 0,
    sendPings: false,
    perMessageDeflate: options.compresses && sharedDeflate,
    open: (socket) => sockets.opened(socket),
    message: (socket, frame) => sockets.received(socket, frame),
    ping: (socket) => sockets.heartbeat(socket),
    pong: (socket) => sockets.heartbeat(socket),
    drain: (socket) => sockets.drained(socket),
    close: (socket, code) => sockets.closed(socket, code),
    // Without this handler an error would end the process and all connections.
    error(error, socket) {
      options.feign.log.error({ error: error.message, stack: error.stack }, "a socket event failed");
      socket.close(1011, "internal error");
    },
  };
}
