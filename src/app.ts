import type { Config } from "./config.ts";
import { listenOn, type Routes } from "./http/server.ts";
import type { Log } from "./log.ts";
import { buildMetrics } from "./metrics.ts";

export type AppRole = "start" | "push" | "deploy";

export interface App {
  /** Where it really listens: the port is known only after binding to 0. */
  url: string;
  port: number;
  /** Stops in order: takes no more work, finishes what is in hand, closes. */
  stop(): Promise<void>;
}

/**
 * The composition root: builds every part from a Config, in the order in which they need each other, and stops them
 * in reverse. Tests start here too.
 */
export async function buildApp(config: Config, role: AppRole, log: Log): Promise<App> {
  const metrics = buildMetrics();
  const routes: Routes = {
    "/livez": () => new Response("ok\n"),
    "/readyz": () => new Response("ready\n"),
    "/metrics": async () =>
      new Response(await metrics.metrics(), { headers: { "content-type": metrics.contentType } }),
  };
  const server = listenOn(config["server.listen"], {
    routes,
    fetch: () =>
      Response.json({ error: { code: "not_found", message: "There is nothing here." } }, { status: 404 }),
  });
  log.info({ role, url: server.url.href }, "listening");
  return {
    url: server.url.origin,
    port: server.port ?? 0,
    async stop() {
      await server.stop(true);
    },
  };
}
