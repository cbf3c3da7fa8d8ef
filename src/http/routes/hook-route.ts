import { renderReason } from "../../reason/reason.ts";
import type { DeliveryRequest } from "../../webhook/decide/delivery.ts";
import type { Answer } from "../../webhook/decide/outcome.ts";
import type { Receiver } from "../../webhook/receive/receiver.ts";
import { readBodyInTime } from "../body.ts";
import { clientAddressOf, limitKeyOf, type Networks } from "../client-address.ts";
import { addressOf } from "../request-address.ts";
import type { Handler, Routes } from "../server.ts";

export interface HookRouteOptions {
  receiver: Receiver;
  maxBodyKB: number;
  /** A body that is incomplete after this time is abandoned. */
  bodyTimeoutMs: number;
  trustedProxies: Networks;
}

export const bodyTimeoutMs = 30_000;
const prefix = "/api/hooks/git/";

/** The anonymous delivery endpoint, directly on the server: no framework in the hot path. */
export function hookRoutes(options: HookRouteOptions): Routes {
  const { receiver, maxBodyKB, trustedProxies } = options;
  const maxBytes = maxBodyKB * 1024;
  const handle: Handler = async (request, server) => {
    if (request.method !== "POST") return methodNotAllowed();
    const peer = server.requestIP(request)?.address ?? "";
    const remoteIp = clientAddressOf(request.headers, peer, trustedProxies);
    let isBroken = false;
    const delivery: DeliveryRequest = {
      key: hookKeyOf(request.url),
      headers: request.headers,
      // Few schemes need it, and parsing a URL costs as much as verifying a signature.
      query: { get: (name) => addressOf(request).searchParams.get(name) },
      remoteIp,
      limitKey: limitKeyOf(remoteIp),
      async readBody() {
        const body = await readWhole(request, maxBytes, options.bodyTimeoutMs);
        isBroken = body === "broken";
        return body;
      },
    };
    const response = toResponse(await receiver.receive(delivery));
    if (isBroken) response.headers.set("connection", "close");
    return response;
  };
  return { "/api/hooks/git": handle, [`${prefix}*`]: handle };
}

const hookKey = /^[0-9a-f]{48}$/;

/** The path after the prefix, or an empty text if it is no valid key. */
function hookKeyOf(url: string): string {
  const start = url.indexOf(prefix);
  const end = url.indexOf("?", start);
  const key = start < 0 ? "" : url.slice(start + prefix.length, end < 0 ? undefined : end);
  return hookKey.test(key) ? key : "";
}

/** A late body counts as broken, like a body whose sender disconnected. */
async function readWhole(
  request: Request,
  maxBytes: number,
  timeoutMs: number,
): Promise<Uint8Array | "too_large" | "broken"> {
  const body = await readBodyInTime(request, maxBytes, timeoutMs).catch(() => "too_late" as const);
  return body === "too_late" ? "broken" : body;
}

function toResponse({ httpStatus, retryAfterSeconds, body }: Answer): Response {
  const headers: Record<string, string> = { "cache-control": "no-store" };
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  return Response.json(
    { ...body, reason: renderReason(body.reason), message: renderReason(body.message) },
    { status: httpStatus, headers },
  );
}

function methodNotAllowed(): Response {
  const message = "Deliveries are sent with POST.";
  return Response.json(
    { error: { code: "method_not_allowed", message } },
    { status: 405, headers: { allow: "POST" } },
  );
}
