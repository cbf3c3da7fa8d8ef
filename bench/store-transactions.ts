/**
 * How many durable delivery transactions the store takes: each looks up the webhook and the debounce window, records
 * a task and a delivery, and tells the task's place in a queue that nobody works off. `bun bench/store-transactions.ts [database.url] [seconds]`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import type { Store } from "../src/model/store.ts";
import { openStore } from "../src/store/database.ts";
import { sampleDelivery, sampleProject, sampleTask, sampleWebhookConfig } from "../test/support/samples.ts";

const projectCount = 100;
const concurrency = 100;

const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
const url = process.argv[2] ?? `sqlite:${join(folder, "slipway.db")}`;
const seconds = Number(process.argv[3] ?? 5);
const store = await openStore({ url, log: pino({ level: "silent" }) });

const projects: { id: number; key: string }[] = [];
for (let each = 0; each < projectCount; each++) {
  const { id } = await store.projects.create(sampleProject());
  const key = crypto.randomUUID();
  await store.webhookConfigs.save(sampleWebhookConfig({ projectId: id, key, enabled: true }));
  projects.push({ id, key });
}

async function deliver(on: Store, each: number): Promise<void> {
  const { id, key } = projects[each % projectCount] ?? { id: 0, key: "" };
  await on.withLock(`project ${id}`, 5000, () =>
    on.transaction(async (keepers) => {
      const now = new Date();
      await keepers.webhookConfigs.byKey(key);
      await keepers.deliveries.lastAccepted(id, new Date(now.getTime() - 1));
      const task = await keepers.tasks.create(sampleTask({ projectId: id, createdAt: now }));
      await keepers.tasks.position(task, now);
      await keepers.tasks.countHeld(id);
      await keepers.deliveries.create(
        sampleDelivery({
          project_id: id,
          task_id: task.id,
          created_at: now,
          host_delivery_id: crypto.randomUUID(),
          body: body,
        }),
      );
    }),
  );
}

const body = JSON.stringify({ ref: "refs/heads/main", filler: "x".repeat(Number(process.argv[4] ?? 1000)) });
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
const endAt = startedAt + seconds * 1000;
const waits: number[] = [];
let done = 0;
let longestTurnMs = 0;
let lastTurn = performance.now();
const turns = setInterval(() => {
  longestTurnMs = Math.max(longestTurnMs, performance.now() - lastTurn);
  lastTurn = performance.now();
}, 1);
await Promise.all(
  Array.from({ length: concurrency }, async (_, lane) => {
    for (let each = lane; performance.now() < endAt; each += concurrency) {
      const begunAt = performance.now();
      await deliver(store, each);
      waits.push(performance.now() - begunAt);
      done++;
    }
  }),
);
clearInterval(turns);
const elapsed = (performance.now() - startedAt) / 1000;
const cpu = process.cpuUsage(cpuBefore);
const cpuMicros = ((cpu.user + cpu.system) / done).toFixed(0);
waits.sort((a, b) => a - b);
const at = (share: number) => (waits[Math.floor(waits.length * share)] ?? 0).toFixed(1);
console.log(
  `${Math.round(done / elapsed)} transactions/s, ${cpuMicros} µs of CPU each, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest turn of the loop ${longestTurnMs.toFixed(1)} ms`,
);
await store.close();
rmSync(folder, { recursive: true });
