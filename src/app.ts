import type { AppContext, AppRole, Part, WorkerContext } from "./app/app-context.ts";
import { keylessOptionsOf, openEndpoints, openWarnings } from "./app/open-endpoints.ts";
import { buildPushPart } from "./app/push-part.ts";
import { openTelemetry } from "./app/system/open-telemetry.ts";
import { workerHealth } from "./app/worker-health.ts";
import { systemClock } from "./clock.ts";
import type { Config } from "./config/config.ts";
import type { GatewayKeys } from "./config/gateway-keys.ts";
import { messageOf } from "./errors.ts";
import { buildKeylessCalls } from "./http/keyless-calls.ts";
import { manualRoutes } from "./http/manual/manual.ts";
import { allOf, operationRoutes } from "./http/routes/operator-routes.ts";
import { type Handler, listenOn, type Routes, routeNames, stopServer } from "./http/server.ts";
import type { Logger } from "./logger.ts";
import { buildMetrics } from "./metrics.ts";
import type { Store } from "./model/store.ts";
import type { OwnCodes } from "./push/admission/verification-order.ts";
import { renderReason } from "./reason/reason.ts";
import { refuseLockedPort } from "./workers/port-lock.ts";

export interface App {
  /** The address that the server listens on, with the port that the system chose if the setting is 0. */
  url: string;
  port: number;
  facts: string[];
  warnings: string[];
  /** Every route that is matched before the pages of the console, as `POST /path`, or `* /path` for any method. */
  routes: string[];
  /** What is missing until it is ready, as /readyz says; null: nothing. */
  missing(): Promise<string | null>;
  /** Null: this role has no gateway. */
  replaceKeys: ((keys: GatewayKeys) => Promise<void>) | null;
  /** Accepts no more work, finishes the work in progress, then closes. */
  /** `SIGINT`: a person has ended it, so that services of its local runner end too. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * The composition root: builds every part from a Config, in the order of their dependencies, and stops them in reverse.
 * Tests use it too.
 */
export async function buildApp(
  config: Config,
  role: AppRole,
  log: Logger,
  clock = systemClock,
  worker?: WorkerContext,
): Promise<App> {
  const metrics = buildMetrics();
  const telemetry = await openTelemetry(config, role, { metrics, log });
  const context: AppContext = { config, log, metrics, telemetry, clock, worker };
  const parts: Part[] = [];
  let state: "starting" | "serving" | "draining" = "starting";
  const closeAll = async () => {
    for (const part of parts.toReversed()) await part.close();
    await telemetry.close();
  };
  // The database opens on a thread of its own, while this one loads and builds the other parts.
  const opening = role === "push" ? null : await beginOpening(context);
  try {
    // The gateway is built before the deploy service that verifies its codes; this variable connects them.
    let ownCodes: OwnCodes = async () => null;
    const push =
      role === "deploy"
        ? null
        : await buildPushPart(context, role === "push" ? null : (question) => ownCodes(question));
    if (push) parts.push(push);
    if (opening) {
      // Imported only here: without it, a gateway alone starts faster and needs half of the memory.
      const { buildDeployPart } = await import("./app/deploy-part.ts");
      const deploy = await buildDeployPart(context, push, await opening.store);
      ownCodes = deploy.ownCodes;
      parts.push(deploy);
    }

    const missing = allOf([
      async () => (state === "serving" ? null : state),
      ...parts.map((part) => () => part.missing()),
    ]);
    const routes: Routes = Object.assign(
      {},
      ...parts.map((part) => part.routes),
      manualRoutes,
      operationRoutes({
        metricsToken: config["metrics.token"],
        keyless: buildKeylessCalls(keylessOptionsOf(config), "metrics.token"),
        ...(worker && push ? workerHealth(worker, push, metrics, missing) : { metrics, missing }),
      }),
    );
    for (const part of parts) await part.prepare?.();
    if (!worker) await refuseLockedPort(config["server.listen"]);
    const server = listenOn(config["server.listen"], {
      routes,
      fetch: fallThrough(parts),
      sharesPort: worker !== undefined,
      log,
      ...(push?.websocket ? { websocket: push.websocket } : {}),
    });
    try {
      for (const part of parts) await part.started?.(server);
    } catch (error) {
      // Otherwise the open port would keep the failed process alive, and no supervisor would restart it.
      await server.stop(true);
      throw error;
    }
    state = "serving";
    log.info({ role, url: server.url.origin }, "listening");
    return {
      url: server.url.origin,
      port: server.port ?? 0,
      facts: [...parts.flatMap((part) => part.facts), ...openEndpoints(config, role)],
      warnings: [...parts.flatMap((part) => part.warnings), ...openWarnings(config, role)].map(renderReason),
      routes: routeNames(routes),
      missing,
      replaceKeys: push?.replaceKeys ?? null,
      async stop(signal) {
        state = "draining";
        // A part that fails must not cut the others short: they still have connections and requests to finish.
        for (const result of await Promise.allSettled(parts.map((part) => part.drain?.(signal))))
          if (result.status === "rejected")
            log.error({ error: messageOf(result.reason) }, "a part did not finish its work in progress");
        for (const part of parts) part.release?.();
        await stopServer(server);
        await closeAll();
        log.info("stopped");
      },
    };
  } catch (error) {
    await closeAll();
    await opening?.store.then(
      (store) => store.close(),
      () => {},
    );
    throw error;
  }
}

/** Resolves when the thread has been started, which the import of other modules would delay. */
async function beginOpening(context: AppContext): Promise<{ store: Promise<Store> }> {
  const { openServerStore } = await import("./app/deploy-store.ts");
  const store = openServerStore(context);
  // A failure is reported where the store is awaited, which may be later.
  store.catch(() => {});
  return { store };
}

function fallThrough(parts: Part[]): Handler {
  return async (request, server) => {
    for (const part of parts) {
      const response = await part.fetch?.(request, server);
      if (response) return response;
    }
    return Response.json(
      { error: { code: "not_found", message: "There is nothing here." } },
      { status: 404 },
    );
  };
}
