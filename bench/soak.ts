import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServerProcess } from "../test/support/server-process.ts";
import { startVerifyService } from "../test/support/verify-service.ts";
import { type Benchmark, type BenchmarkResult, digits, median } from "./benchmark.ts";
import { type LoadCounts, startSoakLoad } from "./soak-load.ts";

const minutes = Number(process.env.SOAK_MINUTES ?? 20);
const sampleEveryMs = 5_000;
/** Records live for a fifth of the run, so that the database reaches its steady size well before the end. */
const retentionDays = Math.max(0.001, minutes / 5 / (24 * 60));
/** Limit for the median of the last third, relative to the third before. */
const allowedGrowth = 1.1;

interface Sample {
  minutes: number;
  residentMB: number;
  heapMB: number;
  timers: number;
  openFiles: number;
  walMB: number;
  databaseMB: number;
}

const curves = {
  residentMB: { title: "Resident memory of the server", unit: "MB" },
  heapMB: { title: "JavaScript heap", unit: "MB" },
  timers: { title: "Timers", unit: "timers" },
  openFiles: { title: "Open file descriptors", unit: "descriptors" },
  walMB: { title: "Write-ahead log of SQLite", unit: "MB" },
  databaseMB: { title: "Database file", unit: "MB" },
} satisfies Partial<Record<keyof Sample, { title: string; unit: string }>>;
type Curve = keyof typeof curves;

export const soak: Benchmark = {
  name: "soak",
  title: "Soak",
  isLong: true,
  method: `\`slipway start\` with SQLite and its local runner under mixed load for ${minutes} minutes: signed deliveries that build and deploy, publishes to every target with and without idempotency keys, clients that come and go, reads of the management API, notifications. Records are kept for ${digits(minutes / 5)} minutes. A curve levels off when the median of its last third is at most ${allowedGrowth} × that of the third before.`,
  async run(progress) {
    const dataDir = mkdtempSync(join(tmpdir(), "slipway-soak-"));
    const verify = startVerifyService();
    const probeFile = join(dataDir, "probe.jsonl");
    process.env.SOAK_PROBE_FILE = probeFile;
    const server = await startServerProcess(
      dataDir,
      {
        "push-verify-uri": verify.url,
        "webhook-limit-per-minute": "100000",
        "webhook-delivery-retention-days": String(retentionDays),
        "tasks-retention-days": String(retentionDays),
      },
      ["--preload", join(import.meta.dir, "soak-probe.ts")],
    );
    const load = await startSoakLoad(server);
    const samples: Sample[] = [];
    const startedAt = performance.now();
    while (performance.now() - startedAt < minutes * 60_000) {
      await Bun.sleep(sampleEveryMs);
      verify.requests.length = 0;
      samples.push(sampleOf(server.pid, dataDir, probeFile, (performance.now() - startedAt) / 60_000));
      if (samples.length % 12 === 0)
        progress(`${samples.length / 12} minutes: ${JSON.stringify(samples.at(-1))}`);
    }
    await load.stop();
    await server.end("SIGTERM");
    await verify.stop();
    rmSync(dataDir, { recursive: true, force: true });
    return report(samples, load.counts);
  },
};

function sampleOf(pid: number, dataDir: string, probeFile: string, atMinutes: number): Sample {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (path: string) => (existsSync(path) ? statSync(path).size / 1e6 : 0);
  const lastLine = existsSync(probeFile)
    ? readFileSync(probeFile, "utf8").trimEnd().split("\n").at(-1)
    : "{}";
  const probe = JSON.parse(lastLine ?? "{}") as { heapBytes?: number; timers?: number };
  return {
    minutes: atMinutes,
    residentMB: Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1e3,
    heapMB: (probe.heapBytes ?? 0) / 1e6,
    timers: probe.timers ?? 0,
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
    walMB: megabytes(join(dataDir, "slipway.db-wal")),
    databaseMB: megabytes(join(dataDir, "slipway.db")),
  };
}

function report(samples: Sample[], counts: LoadCounts): BenchmarkResult {
  const third = Math.floor(samples.length / 3);
  const medianOf = (curve: Curve, part: Sample[]) => median(part.map((sample) => sample[curve]));
  const levels = (Object.keys(curves) as Curve[]).map((curve) => {
    const before = medianOf(curve, samples.slice(third, 2 * third));
    const after = medianOf(curve, samples.slice(2 * third));
    return { curve, before, after, growth: after / Math.max(before, 1e-9) };
  });
  return {
    figures: [
      ...levels.map(({ curve, growth }) => ({
        name: `${curves[curve].title}, last third against the one before`,
        measured: `${growth.toFixed(2)} ×`,
        toReach: `≤ ${allowedGrowth} ×`,
        isReached: growth <= allowedGrowth,
      })),
      {
        name: "Calls that failed",
        measured: String(counts.failures),
        toReach: "0",
        isReached: counts.failures === 0,
      },
    ],
    tables: [
      {
        title: "Levels",
        head: ["what", "second third", "last third", "unit"],
        rows: levels.map(({ curve, before, after }) => [
          curves[curve].title,
          digits(before),
          digits(after),
          curves[curve].unit,
        ]),
      },
      {
        title: "Load",
        head: ["what", "count"],
        rows: Object.entries(counts).map(([name, count]) => [name, count.toLocaleString("en-US")]),
      },
    ],
    plots: (Object.keys(curves) as Curve[]).map((curve) => ({
      file: `performance-soak-${curve.replace(/[A-Z].*/, (end) => `-${end.toLowerCase()}`)}`,
      ...curves[curve],
      points: samples.map((sample) => ({ minutes: sample.minutes, value: sample[curve] })),
    })),
  };
}
