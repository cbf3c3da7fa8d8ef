import type { OpenAPIHono } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { routePath } from "hono/route";
import { Counter, Histogram } from "prom-client";
import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Metrics } from "../../metrics.ts";
import { newReason } from "../../reason/reason.ts";
import { identify } from "../auth.ts";
import { clientAddressOf, isHttps } from "../client-address.ts";
import { faultResponse, thrownResponse } from "../respond.ts";
import type { ApiContext, ApiEnv } from "./context.ts";
import type { ApiDeps } from "./deps.ts";

/** Sets the request id, the client's address and the caller before the endpoint runs. */
export function prepareRequests(deps: ApiDeps) {
  const observe = buildObserver(deps.metrics);
  return createMiddleware<ApiEnv>(async (c, next) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(c.req.raw.headers);
    c.set("requestId", requestId);
    try {
      await prepare(c, deps);
      await next();
    } catch (thrown) {
      // Faults of endpoints are already answered here; this one comes from the preparation.
      c.res = thrownResponse(thrown, deps.log, requestId);
    }
    c.header("x-request-id", requestId);
    if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
    c.header("x-content-type-options", "nosniff");
    const durationMs = Math.round(performance.now() - startedAt);
    const { method, path } = c.req;
    const { status } = c.res;
    observe(method, routePath(c, -1), status, durationMs);
    // Without the query, which may contain codes and secrets.
    const { clientAddress } = c.var;
    // An open console reads all the time, so successful reads appear only at level debug.
    const isQuietRead = method === "GET" && status < 400;
    deps.log[isQuietRead ? "debug" : "info"](
      { requestId, method, path, status, durationMs, clientAddress },
      "request",
    );
  });
}

async function prepare(c: ApiContext, deps: ApiDeps): Promise<void> {
  const request = c.req.raw;
  const { peerAddress } = c.env;
  c.set("clientAddress", clientAddressOf(request.headers, peerAddress, deps.trustedProxies));
  const { secureCookie, trustedProxies } = deps;
  c.set(
    "isSecureCookie",
    secureCookie === "always" ||
      (secureCookie === "by-request" && isHttps(request, peerAddress, trustedProxies)),
  );
  c.set("permissions", deps.permissions);
  c.set("store", deps.store);
  c.set("clock", deps.clock);
  c.set("consoleAccess", deps.push.consoleAccess);
  c.set("identify", () => identify(request, deps.credentials, deps.ownOrigins));
  c.set("identity", await c.var.identify());
}

/** Uses the id of a proxy, if it is valid, so that both logs can be compared. */
function requestIdOf(headers: Headers): string {
  const given = headers.get("x-request-id") ?? "";
  return /^[\w-]{8,64}$/.test(given) ? given : crypto.randomUUID();
}

export function answerFaults(app: OpenAPIHono<ApiEnv>, log: Logger): void {
  app.onError((thrown, c) => {
    if (thrown instanceof HTTPException) return faultResponse(faultOf(thrown));
    return thrownResponse(thrown, log, c.get("requestId") ?? "none");
  });
  app.notFound((c) =>
    faultResponse(
      new Fault("not_found", newReason("no_endpoint", { method: c.req.method, path: c.req.path })),
    ),
  );
}

/** Errors of the framework as faults. */
function faultOf(thrown: HTTPException): Fault {
  if (thrown.status === 415) return new Fault("unsupported_type", newReason("body_type"));
  return new Fault("malformed", newReason("body_not_json"));
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

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
  return (named: string, route: string, status: number, durationMs: number) => {
    // A client can invent methods, which must not become labels.
    const method = methods.has(named) ? named : "other";
    requests.inc({ method, route, status: String(status) });
    latency.observe({ method, route }, durationMs / 1000);
  };
}
