import type { OpenAPIHono } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { Counter, Histogram } from "prom-client";
import { Fault } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Metrics } from "../../metrics.ts";
import { identify, isUnsafe } from "../auth.ts";
import { readText } from "../body.ts";
import { clientAddressOf, isHttps } from "../client-address.ts";
import { faultResponse, thrownResponse } from "../respond.ts";
import type { ApiDeps } from "./api.ts";
import type { ApiEnv } from "./context.ts";

/** Large enough for a webhook test with a whole payload in it. */
const maxBodyBytes = 2 * 1024 * 1024;

/** What every request goes through before its endpoint: an id, the client's address, the body, the caller. */
export function prepareRequests(deps: ApiDeps) {
  const observe = buildObserver(deps.metrics);
  return createMiddleware<ApiEnv>(async (c, next) => {
    const startedAt = performance.now();
    const { peerAddress } = c.env;
    const request = c.req.raw;
    const requestId = requestIdOf(request.headers);
    const clientAddress = clientAddressOf(request.headers, peerAddress, deps.trustedProxies);
    c.set("requestId", requestId);
    c.set("clientAddress", clientAddress);
    c.set("isHttps", isHttps(request, peerAddress, deps.trustedProxies));
    c.set("credentials", deps.credentials);
    c.set("permissions", deps.permissions);
    c.set("keepers", deps.store);
    c.set("clock", deps.clock);
    c.set("identity", await identify(request, deps.credentials, deps.ownOrigins));
    // Hono reads a body without a limit; given the text, it does not read again.
    if (isUnsafe(request.method))
      Object.assign(c.req.bodyCache, { text: Promise.resolve(await readText(request, maxBodyBytes)) });
    await next();
    c.header("x-request-id", requestId);
    c.header("cache-control", "no-store");
    c.header("x-content-type-options", "nosniff");
    const durationMs = Math.round(performance.now() - startedAt);
    const path = c.req.path;
    observe(request.method, c.req.routePath, c.res.status, durationMs);
    // Never the query: people put codes and secrets there.
    deps.log.info(
      { requestId, method: request.method, path, status: c.res.status, durationMs, clientAddress },
      "request",
    );
  });
}

/** A proxy's own id is kept, so that its log and ours can be laid side by side; it must look like one. */
function requestIdOf(headers: Headers): string {
  const given = headers.get("x-request-id") ?? "";
  return /^[\w-]{8,64}$/.test(given) ? given : crypto.randomUUID();
}

export function answerFaults(app: OpenAPIHono<ApiEnv>, log: Log): void {
  app.onError((thrown, c) => {
    if (thrown instanceof HTTPException) return faultResponse(faultOf(thrown));
    return thrownResponse(thrown, log, c.get("requestId") ?? "none");
  });
  app.notFound((c) =>
    faultResponse(
      new Fault("not_found", `There is no ${c.req.method} ${c.req.path}; /docs lists what there is.`),
    ),
  );
}

/** The framework's own refusals, in our words. */
function faultOf(thrown: HTTPException): Fault {
  if (thrown.status === 415)
    return new Fault("unsupported_type", "Send the body as content-type: application/json.");
  return new Fault("malformed", "The body is not JSON.");
}

function buildObserver(metrics: Metrics) {
  const labelNames = ["method", "route", "status"] as const;
  const requests = new Counter({
    name: "slipway_api_requests_total",
    help: "Requests of the management API.",
    labelNames,
    registers: [metrics],
  });
  const latency = new Histogram({
    name: "slipway_api_request_seconds",
    help: "Time to answer a request of the management API.",
    labelNames: ["method", "route"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [metrics],
  });
  return (method: string, route: string, status: number, durationMs: number) => {
    requests.inc({ method, route, status: String(status) });
    latency.observe({ method, route }, durationMs / 1000);
  };
}
