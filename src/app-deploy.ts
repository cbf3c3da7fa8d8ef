import { join } from "node:path";
import { messageOf } from "./errors.ts";
import type { Ground, Part } from "./part.ts";
import { loadDataKey } from "./store/data-key.ts";
import { openStore } from "./store/database.ts";

/** The deploy service: store, webhook, tasks, management API and console. */
export async function buildDeployPart({ config, log, clock }: Ground): Promise<Part> {
  const store = await openStore({
    url: config["database.url"] ?? `sqlite:${join(config["data.dir"], "slipway.db")}`,
    poolSize: config["database.poolSize"],
    log,
    clock,
  });
  const { warnings } = await loadDataKey(
    { dataDir: config["data.dir"], encryptionKey: config["data.encryptionKey"] },
    store,
  );
  return {
    routes: {},
    missing: () => store.check().then(() => null, messageOf),
    facts: [`database: ${store.describe()}`],
    warnings,
    close: () => store.close(),
  };
}
