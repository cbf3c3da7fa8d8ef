import type { Server } from "bun";
import { refusals } from "../../push/admission/refusals.ts";
import type { Connection } from "../../push/connection/connection.ts";
import type { Gateway } from "../../push/gateway.ts";
import type { Handler } from "../server.ts";
import { type HandshakeOptions, handshakeHandler, refusalResponse } from "./handshake.ts";

/** The subprotocol with message ids, resume, and `join` and `leave` frames. */
const v1Protocol = "slipway.v1";

/** `GET /ws`: admits and upgrades, or refuses. */
export function websocketHandler(gateway: Gateway, options: HandshakeOptions): Handler {
  return handshakeHandler(gateway, options, {
    asksConnection: isUpgrade,
    parametersOf: (request, query) => ({
      isV1: offersV1(request.headers),
      stream: null,
      resumeId: query.get("resume"),
    }),
    open: (request, server, connection) => (upgrade(request, server, connection) ? {} : null),
    refuse(request, server, reason) {
      const closesWithReason =
        options.rejectMode === "close" && reason !== "not_upgrade" && isUpgrade(request);
      if (reason === "not_upgrade" && !gateway.admission.allowsOrigin(request.headers.get("origin")))
        return refusalResponse(reason, originRefusedHeaders);
      if (!closesWithReason) return refusalResponse(reason);
      const rejection = gateway.newConnections.refused(refusals[reason]);
      return upgrade(request, server, rejection) ? undefined : refusalResponse(reason);
    },
  });
}

/**
 * Browsers hide the status of a refused handshake. A page can learn with a request that is no handshake that its origin is
 * refused; these headers let it read that, and nothing else is revealed.
 */
const originRefusedHeaders = {
  "x-push-refusal": String(refusals.origin.code),
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "x-push-refusal",
};

function upgrade(request: Request, server: Server<unknown>, data: Connection): boolean {
  return server.upgrade(
    request,
    offersV1(request.headers) ? { data, headers: { "sec-websocket-protocol": v1Protocol } } : { data },
  );
}

function isUpgrade({ method, headers }: Request): boolean {
  return (
    method === "GET" &&
    headers.get("upgrade")?.toLowerCase() === "websocket" &&
    headers.get("sec-websocket-version") === "13" &&
    headers.has("sec-websocket-key")
  );
}

function offersV1(headers: Headers): boolean {
  const offered = headers.get("sec-websocket-protocol");
  return offered?.split(",").some((name) => name.trim() === v1Protocol) ?? false;
}
