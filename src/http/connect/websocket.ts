import type { Server } from "bun";
import { type RefusalReason, refusals } from "../../push/admission/refusals.ts";
import type { Connection } from "../../push/connection/connection.ts";
import type { Gateway } from "../../push/gateway.ts";
import { limitKeyOf } from "../client-address.ts";
import type { Handler } from "../server.ts";
import { type HandshakeOptions, handshakeHandler, refusalResponse } from "./handshake.ts";

/** The subprotocol with message ids, resume, and `join` and `leave` frames. */
const v1Protocol = "slipway.v1";

/** `GET /ws`: admits and upgrades, or refuses. */
export function websocketHandler(gateway: Gateway, options: HandshakeOptions): Handler {
  const refusalNow = (request: Request, server: Server<unknown>) =>
    gateway.admission.refusalNow({
      origin: request.headers.get("origin"),
      rateKey: limitKeyOf(options.clientAddressOf(request, server)),
    });
  return handshakeHandler(gateway, options, {
    asksConnection: isUpgrade,
    parametersOf: (request, query) => ({
      isV1: offersV1(request.headers),
      stream: null,
      resumeId: query.get("resume"),
    }),
    open: (request, server, connection) => (upgrade(request, server, connection) ? {} : null),
    refuse(request, server, reason) {
      if (reason === "not_upgrade") return refusalResponse(reason, headersOf(refusalNow(request, server)));
      if (options.rejectMode !== "close" || !isUpgrade(request))
        return refusalResponse(reason, headersOf(reason));
      const rejection = gateway.newConnections.refused(refusals[reason]);
      return upgrade(request, server, rejection) ? undefined : refusalResponse(reason, headersOf(reason));
    },
  });
}

/**
 * They tell a refusal of the gateway from one of a proxy. Browsers hide the status of a refused handshake: a page can learn
 * with a request that is no handshake whether one would be refused now, and why.
 */
function headersOf(reason: RefusalReason | null): Record<string, string> {
  return {
    ...(reason === null ? {} : { "x-push-refusal": String(refusals[reason].code) }),
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "x-push-refusal",
  };
}

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
