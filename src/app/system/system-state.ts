import { statfs } from "node:fs/promises";
import type { BusState } from "../../bus/bus.ts";
import type { Config } from "../../config/config.ts";
import { type EffectiveSetting, effectiveSettings } from "../../config/config-load.ts";
import type { SystemState } from "../../model/console/system.ts";
import { isSeen } from "../../model/runner.ts";
import type { Store } from "../../model/store.ts";
import type { Reason } from "../../reason/reason.ts";
import { version } from "../../version.ts";
import type { PushPart } from "../push-part.ts";

const maxRunners = 200;

/** What is shown of a push gateway in the same process. */
export type SystemGateway = Pick<PushPart, "queue" | "maxConnections">;

/** What the system page shows. */
export function buildSystemState(
  config: Config,
  store: Store,
  { gateway, warnings }: { gateway: SystemGateway | null; warnings: readonly Reason[] },
): () => Promise<SystemState> {
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
      warnings: [...warnings, ...(gateway?.queue?.warnings() ?? [])],
      address: config["server.baseUrl"] ?? "",
      database: store.describe(),
      disk: { folder, freeBytes: disk.bavail * disk.bsize, totalBytes: disk.blocks * disk.bsize },
      queue: { queued, running, waiting },
      runners: {
        total: runners.total,
        connected: runners.items.filter((runner) => isSeen(runner, now)).length,
      },
      broker: brokerOf(gateway?.queue ?? null),
      settings: effectiveSettings(config).map((setting) => ({ ...setting, used: usedOf(setting, gateway) })),
    };
  };
}

/** The value that the process uses, where it is not the configured one. */
function usedOf({ key, value }: EffectiveSetting, gateway: SystemGateway | null): string | null {
  if (key !== "push.max-connections" || gateway === null) return null;
  return String(gateway.maxConnections) === value ? null : String(gateway.maxConnections);
}

function brokerOf(queue: PushPart["queue"]): SystemState["broker"] {
  if (queue === null) return null;
  return { name: queue.name === "kafka" ? "Kafka" : "RabbitMQ", ...readiness(queue.state()) };
}

function readiness({ ready, detail }: BusState) {
  return { ready, detail: ready ? "" : detail };
}
