import { Fault } from "../../errors.ts";
import type { Metrics } from "../../metrics.ts";
import { newReason } from "../../reason/reason.ts";
import { isSameSecret } from "../../secrets.ts";
import { bearerOf } from "../auth.ts";
import { callHeadOf } from "../call-head.ts";
import type { KeylessCalls } from "../keyless-calls.ts";
import { faultResponse } from "../respond.ts";
import type { Routes } from "../server.ts";

/** A part whose check takes longer is not ready; a probe must not hang. */
const checkTimeoutMs = 3_000;

export interface OperationsOptions {
  metrics: Pick<Metrics, "metrics" | "contentType">;
  /** Unset: only callers that are allowed without a key. */
  metricsToken: string | undefined;
  keyless: KeylessCalls;
  /** For /readyz: null while it is ready, or what is missing. */
  missing: Check;
}

/** Null while a part is ready, or what is missing. */
export type Check = () => Promise<string | null>;

/** One check of several, which ends in time. */
export function allOf(checks: readonly Check[]): Check {
  const missingParts = checks.map((check) => shareInFlight(() => withinTime(check)));
  return async () => {
    const missing = (await Promise.all(missingParts.map((ask) => ask()))).filter((text) => text !== null);
    return missing.length === 0 ? null : missing.join("\n");
  };
}

/** Endpoints for operators and orchestrators. */
export function operationRoutes({ metrics, metricsToken, keyless, missing }: OperationsOptions): Routes {
  return {
    // Checks only the process: an unavailable broker or database must not restart all instances.
    "/livez": () => plain("ok"),
    "/readyz": async () => {
      const text = await missing();
      return text === null ? plain("ready") : plain(text, 503);
    },
    "/metrics": async (request, server) => {
      const refusal =
        metricsToken === undefined
          ? keylessRefusal(keyless.refusalOf(callHeadOf(request.headers), request, server))
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
function shareInFlight<T>(check: () => Promise<T>): () => Promise<T> {
  let inFlight: Promise<T> | null = null;
  return () => {
    inFlight ??= check().finally(() => {
      inFlight = null;
    });
    return inFlight;
  };
}

async function withinTime(check: Check): Promise<string | null> {
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
  return new Fault("unauthenticated", newReason("metrics_token"));
}
