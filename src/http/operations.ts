import { Fault } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import { isSameSecret } from "../secrets.ts";
import { bearerOf } from "./auth.ts";
import { isInternalCaller, type Networks } from "./client-address.ts";
import { faultResponse } from "./respond.ts";
import type { Routes } from "./server.ts";

/** A part that does not answer within this long is not ready; a probe must not hang on it. */
const checkTimeoutMs = 3_000;

export interface OperationsOptions {
  metrics: Metrics;
  /** Unset: only callers inside the internal networks. */
  metricsToken: string | undefined;
  internalNetworks: Networks;
  /** Each answers null while its part can work, or what is missing. */
  checks: (() => Promise<string | null>)[];
}

/** What operators and orchestrators ask. */
export function operationRoutes({
  metrics,
  metricsToken,
  internalNetworks,
  checks,
}: OperationsOptions): Routes {
  return {
    // The process only: a broker or database that is away must not restart the fleet.
    "/livez": () => plain("ok"),
    "/readyz": async () => {
      const missing = (await Promise.all(checks.map(withinTime))).filter((text) => text !== null);
      return missing.length === 0 ? plain("ready") : plain(missing.join("\n"), 503);
    },
    "/metrics": async (request, server) => {
      const peerAddress = server.requestIP(request)?.address ?? "";
      const refusal = metricsRefusal(request.headers, peerAddress, metricsToken, internalNetworks);
      if (refusal) return faultResponse(refusal);
      return new Response(await metrics.metrics(), { headers: { "content-type": metrics.contentType } });
    },
  };
}

function plain(text: string, status = 200): Response {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${text}\n`, { status, headers });
}

async function withinTime(check: () => Promise<string | null>): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`a check took longer than ${checkTimeoutMs} ms`), checkTimeoutMs);
  try {
    return await Promise.race([check(), promise]);
  } catch {
    return "a check failed; the log says why";
  } finally {
    clearTimeout(timer);
  }
}

function metricsRefusal(
  headers: Headers,
  peerAddress: string,
  token: string | undefined,
  internalNetworks: Networks,
): Fault | null {
  if (token === undefined) {
    if (isInternalCaller(headers, peerAddress, internalNetworks)) return null;
    return new Fault(
      "forbidden",
      "Metrics are for internal networks only; set metrics.token to read them from here.",
    );
  }
  const given = bearerOf(headers);
  if (given !== null && isSameSecret(given, token)) return null;
  return new Fault("unauthenticated", "Send the value of metrics.token as `Authorization: Bearer`.");
}
