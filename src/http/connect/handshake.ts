import type { Server } from "bun";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Handshake } from "../../push/admission/admission.ts";
import type { HandshakeParameters } from "../../push/admission/new-connections.ts";
import { type RefusalReason, refusals } from "../../push/admission/refusals.ts";
import type { Connection } from "../../push/connection/connection.ts";
import type { Gateway } from "../../push/gateway.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { limitKeyOf } from "../client-address.ts";
import { fail } from "../feign/feign-envelope.ts";
import { addressOf } from "../request-address.ts";
import type { Handler } from "../server.ts";

export interface HandshakeOptions {
  log: Logger;
  rejectMode: "http" | "close";
  clientAddressOf: (request: Request, server: Server<unknown>) => string;
}

/** How admitted and refused requests are answered: by an upgrade to WebSocket or by an event stream. */
export interface Transport {
  asksConnection(request: Request): boolean;
  parametersOf(request: Request, query: URLSearchParams): Omit<HandshakeParameters, "channels">;
  /** Null: the client has disconnected meanwhile. */
  open(request: Request, server: Server<unknown>, connection: Connection): { response?: Response } | null;
  refuse(request: Request, server: Server<unknown>, reason: RefusalReason): Response | undefined;
}

/** Admits a client and opens its connection, or refuses. */
export function handshakeHandler(gateway: Gateway, options: HandshakeOptions, transport: Transport): Handler {
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
    const asksConnection = transport.asksConnection(request);
    return { asksConnection, address, rateKey: limitKeyOf(address), origin };
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
    // Without other workers nothing may be awaited between this check and the opening.
    const refusal = confirming instanceof Promise ? await confirming : confirming;
    if (refusal) return refuse(request, server, refusal);
    let opened: { response?: Response } | null = null;
    try {
      const connection = gateway.newConnections.admitted(verified, {
        ...transport.parametersOf(request, query),
        channels: query.getAll("channel"),
      });
      opened = transport.open(request, server, connection);
    } finally {
      // The client disconnected while its code was verified, or an error was thrown.
      if (!opened) gateway.admission.release(verified.userId);
    }
    return opened ? opened.response : refusalResponse("not_upgrade");
  }

  function refuse(request: Request, server: Server<unknown>, reason: RefusalReason): Response | undefined {
    if (isDebug) {
      const address = options.clientAddressOf(request, server);
      options.log.debug({ reason, status: refusals[reason].status, address }, "connection refused");
    }
    return transport.refuse(request, server, reason);
  }
}

/** A refusal as a plain HTTP response. */
export function refusalResponse(reason: RefusalReason, more: Record<string, string> = {}): Response {
  const { status, code, message, retryAfterSeconds } = refusals[reason];
  const headers: Record<string, string> = { ...more };
  if (retryAfterSeconds !== null) headers["retry-after"] = String(retryAfterSeconds);
  if (status === 426) {
    headers.upgrade = "websocket";
    headers.connection = "Upgrade";
    headers["sec-websocket-version"] = "13";
  }
  return fail(code, message, headers);
}
