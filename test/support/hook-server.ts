import pino from "pino";
import { buildWebhookPart, type WebhookPart } from "../../src/app/webhook-part.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { configOf } from "../../src/config/config-load.ts";
import { listenOn } from "../../src/http/server.ts";
import { buildMetrics, type Metrics } from "../../src/metrics.ts";
import type { DeliverySummary } from "../../src/model/delivery.ts";
import type { Store } from "../../src/model/store.ts";
import { buildSecrets } from "../../src/secrets.ts";
import { buildWaitCache } from "../../src/task/view/wait-cache.ts";
import { silentTelemetry } from "../../src/telemetry/telemetry.ts";
import type { WebhookChange } from "../../src/webhook/save-webhook.ts";
import { sampleProject } from "./samples.ts";

/** Only the webhook, over a given store: for states that cannot be reached through the whole program. */
export interface HookServer {
  url: string;
  store: Store;
  part: WebhookPart;
  metrics: Metrics;
  logLines: string[];
  told: DeliverySummary[];
  /** Creates a project with an enabled webhook; returns its id and address. */
  project(change?: WebhookChange): Promise<{ id: number; url: string }>;
  stop(): Promise<void>;
}

export async function startHookServer(
  store: Store,
  settings: Partial<Config> = {},
  clock: Clock = systemClock,
): Promise<HookServer> {
  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void logLines.push(line) });
  const told: DeliverySummary[] = [];
  const metrics = buildMetrics();
  const context = { config: configOf(settings), log, metrics, telemetry: silentTelemetry, clock };
  let origin = "";
  const part = buildWebhookPart(context, {
    store,
    secrets: buildSecrets(new Uint8Array(32)),
    gitUrlRules: { allowLocal: true, samplesDir: "", trusted: [] },
    announcer: { enqueued: () => {}, moved: () => {}, send: () => {}, consoleUrl: () => "" },
    waitOf: buildWaitCache(store),
    onDelivery: (summary) => void told.push(summary),
    ownUrl: () => "",
    baseUrl: () => ({ url: origin, isConfigured: false }),
  });
  const server = listenOn(
    { host: "127.0.0.1", port: 0 },
    { routes: part.routes, fetch: () => new Response("", { status: 404 }), log },
  );
  origin = server.url.origin;
  return {
    url: origin,
    store,
    part,
    metrics,
    logLines,
    told,
    async project(change = {}) {
      const { id } = await store.projects.create(sampleProject());
      const config = await part.management.save(id, { enabled: true, ...change }, () => null);
      return { id, url: String(part.management.endpointOf(config).url) };
    },
    async stop() {
      await server.stop(true);
      await part.close();
    },
  };
}
