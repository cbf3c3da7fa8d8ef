import { buildDeployPart } from "./app-deploy.ts";
import { buildPushPart } from "./app-push.ts";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { type Handler, listenOn, type Routes } from "./http/server.ts";
import type { Log } from "./log.ts";
import { buildMetrics } from "./metrics.ts";
import type { Ground, Part } from "./part.ts";

export type AppRole = "start" | "push" | "deploy";

export interface App {
  /** Where it really listens: the port is known only after binding to 0. */
  url: string;
  port: number;
  facts: string[];
  warnings: string[];
  /** Stops in order: takes no more work, finishes what is in hand, closes. */
  stop(): Promise<void>;
}

/**
 * The composition root: builds every part from a Config, in the order in which they need each other, and stops them
 * in reverse. Tests start here too.
 */
export async function buildApp(config: Config, role: AppRole, log: Log, clock = systemClock): Promise<App> {
  const metrics = buildMetrics();
  const ground: Ground = { config, log, metrics, clock };
  const parts: Part[] = [];
  const closeAll = async () => {
    for (const part of parts.toReversed()) await part.close();
  };
  try {
    const push = role === "deploy" ? null : await buildPushPart(ground);
    if (push) parts.push(push);
    if (role !== "push") parts.push(await buildDeployPart(ground));

    const server = listenOn(config["server.listen"], {
      routes: Object.assign(
        {},
        ...parts.map((part) => part.routes),
        operationRoutes(ground, parts),
      ) as Routes,
      fetch: fallThrough(parts),
      ...(push?.websocket ? { websocket: push.websocket } : {}),
    });
    for (const part of parts) await part.started?.(server);
    log.info({ role, url: server.url.origin }, "listening");
    return {
      url: server.url.origin,
      port: server.port ?? 0,
      facts: parts.flatMap((part) => part.facts),
      warnings: parts.flatMap((part) => part.warnings),
      async stop() {
        await Promise.all(parts.map((part) => part.drain?.()));
        await server.stop(true);
        await closeAll();
        log.info("stopped");
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Liveness is the process only: a broker or database that is away must not restart the fleet. */
function operationRoutes({ metrics }: Ground, parts: Part[]): Routes {
  return {
    "/livez": () => new Response("ok\n"),
    "/readyz": async () => {
      const missing = (await Promise.all(parts.map((part) => part.missing()))).filter(
        (text) => text !== null,
      );
      return missing.length === 0
        ? new Response("ready\n")
        : new Response(`${missing.join("\n")}\n`, { status: 503 });
    },
    "/metrics": async () =>
      new Response(await metrics.metrics(), { headers: { "content-type": metrics.contentType } }),
  };
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
