import { join } from "node:path";
import { buildManagement } from "./app-management.ts";
import { buildWebhookPart } from "./app-webhook.ts";
import { buildBaseUrl } from "./base-url.ts";
import type { Ground, Part } from "./part.ts";
import { loadDataKey } from "./store/data-key.ts";
import { openStore } from "./store/database.ts";

/** The deploy service: store, webhook, tasks, management API and console. */
export async function buildDeployPart(ground: Ground): Promise<Part> {
  const { config, log, clock } = ground;
  const store = await openStore({
    url: config["database.url"] ?? `sqlite:${join(config["data.dir"], "slipway.db")}`,
    poolSize: config["database.poolSize"],
    log,
    clock,
  });
  try {
    const { secrets, warnings } = await loadDataKey(
      { dataDir: config["data.dir"], encryptionKey: config["data.encryptionKey"] },
      store,
    );
    const baseUrl = buildBaseUrl(config["server.baseUrl"], config["server.listen"]);
    const webhook = buildWebhookPart(ground, {
      store,
      secrets,
      announcer: { enqueued: () => {}, changed: () => {} },
      onDelivery: () => {},
      baseUrl: baseUrl.current,
    });
    const management = await buildManagement(ground, store, secrets, webhook);
    return {
      routes: { ...webhook.routes, "/api/*": management.handle, "/docs": management.handle },
      started(server) {
        baseUrl.bound(server.port ?? 0);
        webhook.start();
      },
      missing: () =>
        store.check().then(
          () => null,
          () => "the database does not answer",
        ),
      facts: [`database: ${store.describe()}`, ...management.facts],
      warnings,
      async close() {
        await webhook.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
