import { Fault } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import { isSameSecret } from "../secrets.ts";
import { bearerOf } from "./auth.ts";
import { feignHeadOf } from "./feign/feign-head.ts";
import type { KeylessCalls } from "./keyless-calls.ts";
import { faultResponse } from "./respond.ts";
import type { Routes } from "./server.ts";

/** A part that does not answer within this long is not ready; a probe must not hang on it. */
const checkTimeoutMs = 3_000;

export interface OperationsOptions {
  metrics: Metrics;
  /** Unset: only callers that are allowed without a key. */
  metricsToken: string | undefined;
  keyless: KeylessCalls;
  /** Each answers null while its part can work, or what is missing. */
  checks: (() => Promise<string | null>)[];
}

/** What operators and orchestrators ask. */
export function operationRoutes({ metrics, metricsToken, keyless, checks }: OperationsOptions): Routes {
  const missingParts = checks.map((check) => sharedWhileAsked(() => withinTime(check)));
  return {
    // The process only: a broker or database that is away must not restart the fleet.
    "/livez": () => plain("ok"),
    "/readyz": async () => {
      const missing = (await Promise.all(missingParts.map((ask) => ask()))).filter((text) => text !== null);
      return missing.length === 0 ? plain("ready") : plain(missing.join("\n"), 503);
    },
    "/metrics": async (request, server) => {
      const refusal =
        metricsToken === undefined
          ? keylessRefusal(keyless.refusalOf(feignHeadOf(request.headers), request, server))
          : tokenRefusal(request.headers, metricsToken);
      if (refusal) return faultResponse(refusal);
      return new Response(await metrics.metrics(), { headers: { "content-type": metrics.contentType } });
    },
  };
}

function plain(text: string, status = 200): Response {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${text}\n`, { status, headers });
}

/** The endpoint is public and the check queries the database, so simultaneous requests share one check. */
function sharedWhileAsked<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | null = null;
  return () => {
    asked ??= ask().finally(() => {
      asked = null;
    });
    return asked;
  };
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

function keylessRefusal(reason: string | null): Fault | null {
  return reason === null ? null : new Fault("forbidden", reason);
}

function tokenRefusal(headers: Headers, token: string): Fault | null {
  const given = bearerOf(headers);
  if (given !== null && isSameSecret(given, token)) return null;
  return new Fault("unauthenticated", "Send the value of metrics.token as `Authorization: Bearer`.");
}
