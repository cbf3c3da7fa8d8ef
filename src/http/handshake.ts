import type { Server } from "bun";
import { messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Handshake } from "../push/admission/admission.ts";
import type { RefusalReason } from "../push/admission/refusals.ts";
import { refusals } from "../push/admission/refusals.ts";
import type { Connection } from "../push/connection/connection.ts";
import type { Gateway } from "../push/gateway.ts";
import { failureCodes } from "../push/message/failure-codes.ts";
import { limitKeyOf } from "./client-address.ts";
import { fail } from "./feign/feign-envelope.ts";
import { addressOf } from "./request-address.ts";
import type { Handler } from "./server.ts";

/** The subprotocol with message ids, resume, and `join` and `leave` frames. */
const v1Protocol = "slipway.v1";

export interface HandshakeOptions {
  log: Logger;
  rejectMode: "http" | "close";
  clientAddressOf: (request: Request, server: Server<unknown>) => string;
}

/** `GET /ws`: admits and upgrades, or refuses. */
export function handshakeHandler(gateway: Gateway, options: HandshakeOptions): Handler {
  const isDebug = options.log.isLevelEnabled("debug");
  return (request, server) => {
    try {
      const handshake = handshakeOf(request, server);
      const refusal = gateway.admission.refusalOf(handshake);
      return refusal ? refuse(request, server, refusal) : admit(request, server, handshake).catch(failed);
    } catch (error) {
      return failed(error);
    }
  };

  function handshakeOf(request: Request, server: Server<unknown>): Handshake {
    const address = options.clientAddressOf(request, server);
    const origin = request.headers.get("origin");
    return { isUpgrade: isUpgrade(request), address, rateKey: limitKeyOf(address), origin };
  }

  function failed(error: unknown): Response {
    options.log.error({ error: messageOf(error) }, "a handshake failed");
    return fail(failureCodes.internal, "Something went wrong on our side; the log has the details.");
  }

  async function admit(
    request: Request,
    server: Server<unknown>,
    { address, rateKey, origin }: Handshake,
  ): Promise<Response | undefined> {
    const query = addressOf(request).searchParams;
    const verified = await gateway.admission.admit({
      address,
      rateKey,
      origin,
      code: query.get("code"),
      asksTemporary: query.get("temp") === "1",
    });
    if (typeof verified === "string") return refuse(request, server, verified);
    const confirming = gateway.admission.confirm(verified);
    // Without other workers nothing may be awaited between this check and the upgrade.
    const refusal = confirming instanceof Promise ? await confirming : confirming;
    if (refusal) return refuse(request, server, refusal);
    let isOpen = false;
    try {
      const isV1 = offersV1(request.headers);
      const connection = gateway.newConnections.admitted(verified, {
        isV1,
        channels: query.getAll("channel"),
        resumeId: query.get("resume"),
      });
      isOpen = upgrade(request, server, connection, isV1);
    } finally {
      // The client disconnected while its code was verified, or an error was thrown.
      if (!isOpen) gateway.admission.release(verified.userId);
    }
    return isOpen ? undefined : refusalResponse("not_upgrade");
  }

  function refuse(request: Request, server: Server<unknown>, reason: RefusalReason): Response | undefined {
    if (isDebug) {
      const address = options.clientAddressOf(request, server);
      options.log.debug({ reason, status: refusals[reason].status, address }, "connection refused");
    }
    const closesWithReason = options.rejectMode === "close" && reason !== "not_upgrade" && isUpgrade(request);
    if (reason === "not_upgrade" && !gateway.admission.allowsOrigin(request.headers.get("origin")))
      return refusalResponse(reason, originRefusedHeaders);
    if (!closesWithReason) return refusalResponse(reason);
    const rejection = gateway.newConnections.refused(refusals[reason]);
    const isOpen = upgrade(request, server, rejection, offersV1(request.headers));
    return isOpen ? undefined : refusalResponse(reason);
  }
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

function refusalResponse(reason: RefusalReason, more: Record<string, string> = {}): Response {
  const { code, message, retryAfterSeconds } = refusals[reason];
  const headers: Record<string, string> = { ...more };
  if (retryAfterSeconds !== null) headers["retry-after"] = String(retryAfterSeconds);
  if (code === failureCodes.notUpgrade) {
    headers.upgrade = "websocket";
    headers.connection = "Upgrade";
    headers["sec-websocket-version"] = "13";
  }
  return fail(code, message, headers);
}

function upgrade(request: Request, server: Server<unknown>, data: Connection, isV1: boolean): boolean {
  return server.upgrade(
    request,
    isV1 ? { data, headers: { "sec-websocket-protocol": v1Protocol } } : { data },
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
