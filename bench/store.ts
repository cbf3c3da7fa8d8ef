import { Database as SqliteFile } from "bun:sqlite";
import { parseGenericPayload } from "../src/git-host/generic.ts";
import type { DeliveryFilter } from "../src/model/delivery.ts";
import type { Store } from "../src/model/store.ts";
import type { WebhookConfig } from "../src/model/webhook-config.ts";
import { newReason } from "../src/reason/reason.ts";
import { type AcceptInput, acceptDelivery } from "../src/webhook/decide/decide-delivery.ts";
import { newDelivery } from "../src/webhook/decide/delivery.ts";
import { deliveryKinds } from "../src/webhook/decide/delivery-kind.ts";
import { availableDatabases, makeSqlite } from "../test/support/databases.ts";
import { sampleProject, sampleWebhookConfig } from "../test/support/samples.ts";
import { type Benchmark, digits, median } from "./benchmark.ts";
import { measureStalls } from "./store-stalls.ts";

const projectCount = 100;
const lanes = 100;
const seconds = 5;
const recordCount = 1_000_000;
const firstPage = { page: 1, pageSize: 20 };
const transactionsToReach = 1_000;
const pageMsToReach = 20;

export const storeSpeed: Benchmark = {
  name: "store",
  title: "Store",
  method: `In one process. Transactions: ${lanes} lanes over ${projectCount} projects, each the operation \`acceptDelivery\` under its project's lock with a body of 1 KB; answered when it is on disk. Lists: the first page of 20 and its total over ${recordCount.toLocaleString("en-US")} delivery records in SQLite, median of 9. Stalls: the longest time between two turns of the event loop while the work runs, beside that of nothing.`,
  async run(progress) {
    const rows: string[][] = [];
    let sqlitePerSecond = 0;
    for (const { name, make } of await availableDatabases()) {
      progress(`${name}: transactions`);
      const database = await make();
      const { perSecond, cpuMicros, p99Ms } = await measureTransactions(await database.open());
      await database.remove();
      if (name === "SQLite") sqlitePerSecond = perSecond;
      rows.push([name, digits(perSecond), digits(cpuMicros), digits(p99Ms)]);
    }
    progress(`lists over ${recordCount} records`);
    const { pages, stalls } = await measureLarge();
    return {
      figures: [
        {
          name: "Durable delivery transactions on SQLite",
          measured: `${digits(sqlitePerSecond)}/s`,
          toReach: `≥ ${digits(transactionsToReach)}/s`,
          isReached: sqlitePerSecond >= transactionsToReach,
        },
        {
          name: "First page of a million deliveries",
          measured: `${digits(pages.all ?? 0)} ms`,
          toReach: `< ${pageMsToReach} ms`,
          isReached: (pages.all ?? Number.POSITIVE_INFINITY) < pageMsToReach,
        },
      ],
      tables: [
        {
          title: "Delivery transactions",
          head: ["database", "per second", "µs of CPU each, ours", "p99 of the answer, ms"],
          rows,
        },
        {
          title: "First page of a million deliveries",
          head: ["filter", "ms"],
          rows: Object.entries(pages).map(([filter, ms]) => [filter, digits(ms)]),
        },
        {
          title: "Longest stall of the event loop",
          head: ["work", "ms", "× of nothing"],
          rows: Object.entries(stalls).map(([work, ms]) => [
            work,
            digits(ms),
            digits(ms / (stalls.nothing ?? Number.NaN)),
          ]),
        },
      ],
      plots: [],
    };
  },
};

async function measureTransactions(store: Store) {
  const hooks: WebhookConfig[] = [];
  for (let each = 0; each < projectCount; each++) {
    const { id } = await store.projects.create(sampleProject());
    const config = sampleWebhookConfig({ projectId: id, key: crypto.randomUUID(), enabled: true });
    await store.webhookConfigs.save(config);
    hooks.push(config);
  }
  const waitsMs: number[] = [];
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  await Promise.all(
    hooks.slice(0, lanes).map(async (hook) => {
      while (performance.now() < endAt) {
        const begunAt = performance.now();
        await deliver(store, hook);
        waitsMs.push(performance.now() - begunAt);
      }
    }),
  );
  const elapsedMs = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  waitsMs.sort((a, b) => a - b);
  return {
    perSecond: (waitsMs.length / elapsedMs) * 1000,
    cpuMicros: (cpu.user + cpu.system) / waitsMs.length,
    p99Ms: waitsMs[Math.floor(waitsMs.length * 0.99)] ?? 0,
  };
}

const body = JSON.stringify({ ref: "refs/heads/main", filler: "x".repeat(1000) });

const event = parseGenericPayload(JSON.parse(body), "push", null);

/** Decides about a delivery as the product does. */
async function deliver(store: Store, config: WebhookConfig): Promise<unknown> {
  const { projectId } = config;
  const delivery = newDelivery(deliveryKinds.live, new Date(), {
    projectId,
    projectName: "shop",
    provider: "generic",
    event,
    body,
    hostDeliveryId: crypto.randomUUID(),
    remoteIp: "192.0.2.1",
  });
  const input: AcceptInput = {
    delivery,
    readBy: config,
    settings: { debounceSeconds: 0, sharedPerMinute: null, keepsTips: true },
    countsPlace: false,
    consoleUrl: "",
  };
  const lock = { name: `webhook ${projectId}`, waitMs: 5_000 };
  return store.run(acceptDelivery, input, lock);
}

async function measureLarge(): Promise<{ pages: Record<string, number>; stalls: Record<string, number> }> {
  const database = await makeSqlite();
  const store = await database.open();
  fill(database.url);
  const filters: Record<string, DeliveryFilter> = {
    all: {},
    "one project": { projectId: 7 },
    "one status": { status: "ignored" },
    "twenty projects that a user may view": {
      visibleProjectIds: Array.from({ length: 20 }, (_, i) => i + 1),
    },
    "a host's delivery id": { search: "host 77" },
    "a ref that most have": { search: "main" },
  };
  const measured: Record<string, number> = {};
  for (const [name, filter] of Object.entries(filters)) {
    const times: number[] = [];
    for (let each = 0; each < 9; each++) {
      const begunAt = performance.now();
      await store.deliveries.list(filter, firstPage);
      times.push(performance.now() - begunAt);
    }
    measured[name] = median(times);
  }
  const stalls = await measureStalls(store);
  await database.remove();
  return { pages: measured, stalls };
}

function fill(url: string): void {
  const file = new SqliteFile(url.slice("sqlite:".length));
  file.run(`insert into deliveries (
      project_id, project_name, provider, event, ref, ref_type, "commit", commit_message, author, status, reason,
      task_id, remote_ip, created_at, code, http_status, count, host_delivery_id, headers, trace, body)
    select i % ${projectCount} + 1, 'shop', 'github', 'push', case when i % 10 = 0 then 'feature/' || i else 'main' end,
      'branch', 'commit ' || i, 'Sell more', 'ann', case when i % 5 = 0 then 'ignored' else 'accepted' end, '${JSON.stringify(newReason("all_passed"))}', i,
      '192.0.2.1', 1700000000000 + i * 1000, case when i % 5 = 0 then 'skip_keyword' else 'accepted' end, 200, 1,
      'host ' || i, '{}', '[]', printf('%.1000c', 'x')
    from (with recursive s(i) as (select 1 union all select i + 1 from s where i < ${recordCount}) select i from s)`);
  file.close();
}
