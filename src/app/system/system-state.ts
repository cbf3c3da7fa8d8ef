import { statfs } from "node:fs/promises";
import type { Config } from "../../config/config.ts";
import { effectiveSettings } from "../../config/config-load.ts";
import type { SystemState } from "../../http/api/system-shape.ts";
import { isSeen } from "../../model/runner.ts";
import type { Store } from "../../model/store.ts";
import { version } from "../../version.ts";

const maxRunners = 200;

/** What the system page shows. */
export function buildSystemState(config: Config, store: Store): () => Promise<SystemState> {
  const total = async (state: "queued" | "running" | "waiting") =>
    (await store.tasks.list({ state }, { page: 1, pageSize: 1 })).total;
  return async () => {
    const folder = config["data.dir"];
    const [disk, queued, running, waiting, runners] = await Promise.all([
      statfs(folder),
      total("queued"),
      total("running"),
      total("waiting"),
      store.runners.list({ page: 1, pageSize: maxRunners }),
    ]);
    const now = store.now();
    return {
      version,
      address: config["server.baseUrl"] ?? "",
      database: store.describe(),
      disk: { folder, freeBytes: disk.bavail * disk.bsize, totalBytes: disk.blocks * disk.bsize },
      queue: { queued, running, waiting },
      runners: {
        total: runners.total,
        connected: runners.items.filter((runner) => isSeen(runner, now)).length,
      },
      broker: brokerOf(config["push.queue.url"]),
      settings: effectiveSettings(config),
    };
  };
}

function brokerOf(url: string | undefined): SystemState["broker"] {
  if (!url) return null;
  return url.startsWith("kafka") ? "Kafka" : "RabbitMQ";
}
