import type { Answer } from "../webhook/outcome.ts";
import type { Incoming, Receiver } from "../webhook/receiver.ts";
import { readBody } from "./body.ts";
import { clientAddressOf, type Networks } from "./client-address.ts";
import type { Handler, Routes } from "./server.ts";

export interface HookRouteOptions {
  receiver: Receiver;
  maxBodyKB: number;
  trustedProxies: Networks;
}

const prefix = "/api/hooks/git/";
/** A body that has not arrived whole by then is given up, whether it stalls or dribbles. */
const maxBodyMs = 30_000;

/** The anonymous delivery endpoint, directly on the server: no framework in the hot path. */
export function hookRoutes({ receiver, maxBodyKB, trustedProxies }: HookRouteOptions): Routes {
  const maxBytes = maxBodyKB * 1024;
  const handle: Handler = async (request, server) => {
    if (request.method !== "POST") return methodNotAllowed();
    const url = new URL(request.url);
    const peer = server.requestIP(request)?.address ?? "";
    const incoming: Incoming = {
      key: url.pathname.startsWith(prefix) ? url.pathname.slice(prefix.length) : "",
      headers: request.headers,
      query: url.searchParams,
      remoteIp: clientAddressOf(request.headers, peer, trustedProxies),
      readBody: () => readWhole(request, maxBytes),
    };
    return toResponse(await receiver.receive(incoming));
  };
  return { "/api/hooks/git": handle, [`${prefix}*`]: handle };
}

async function readWhole(request: Request, maxBytes: number): Promise<Uint8Array | "too_large" | "broken"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<"broken">((resolve) => {
    timer = setTimeout(() => resolve("broken"), maxBodyMs);
  });
  try {
    return await Promise.race([readBody(request, maxBytes), tooLate]);
  } catch {
    return "broken";
  } finally {
    clearTimeout(timer);
  }
}

function toResponse({ httpStatus, retryAfterSeconds, body }: Answer): Response {
  const headers: Record<string, string> = { "cache-control": "no-store" };
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  return Response.json(body, { status: httpStatus, headers });
}

function methodNotAllowed(): Response {
  const message = "Deliveries are sent with POST.";
  return Response.json(
    { error: { code: "method_not_allowed", message } },
    { status: 405, headers: { allow: "POST" } },
  );
}
