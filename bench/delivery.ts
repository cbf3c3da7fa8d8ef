import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileGlob } from "../src/model/glob.ts";
import { makePostgres } from "../test/support/databases.ts";
import { serviceUrl } from "../test/support/services.ts";
import { type Benchmark, digits, type Figure, median } from "./benchmark.ts";
import { measureList } from "./delivery-list.ts";
import { type DeliveryLoad, startDeliveryLoad } from "./delivery-load.ts";
import { type HookTarget, startAdnanhWebhook, startDeploy, startOctokit } from "./delivery-servers.ts";
import { countRoundTrips } from "./round-trips.ts";

const projects = 100;
const requests = 6_000;
const rounds = 5;
const atOnce = 64;
const steadyPerSecond = 200;
const steadySeconds = 15;
const countedRequests = 500;

export const deliveries: Benchmark = {
  name: "delivery",
  title: "Webhook deliveries",
  method: `Signed GitHub pushes of 7 to 8 KB over ${projects} projects (limitPerMinute raised, debounce 0), ${atOnce} kept-alive connections, ${requests.toLocaleString("en-US")} requests a round; servers take turns, each when the one before is done with what it has answered, and the median of ${rounds} rounds counts. Slipway writes a record and a task for each and answers when they are on disk (SQLite, and PostgreSQL on the same machine; round trips to it are counted by a proxy in a run of their own). \`@octokit/webhooks\` on Node verifies, parses, runs an empty handler and records nothing; \`webhook\` (Debian) verifies, answers, and starts \`/bin/true\` afterwards, so that its queue grows for as long as it is sent more than it can start: it is also measured by what it has done. The steady rate is sent for ${steadySeconds} s; latency counts from when a request was due.`,
  async run(progress) {
    const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
    const load = startDeliveryLoad();
    const service = await serviceUrl("postgres");
    const postgres = service === undefined ? null : await makePostgres(service);
    const onPostgres = postgres && (await startDeploy(join(folder, "postgres"), projects, postgres.url));
    const slipway = await startDeploy(join(folder, "data"), projects);
    const adnanh = await startAdnanhWebhook(folder);
    if (adnanh === null) progress("`webhook` is not installed, so it is not compared");
    const targets = [
      slipway,
      await startOctokit(),
      ...(onPostgres ? [onPostgres] : []),
      ...(adnanh ? [adnanh] : []),
    ];
    try {
      const throughput = await compare(targets, { slipway, onPostgres }, load, progress);
      const steady = await atSteadyRate(slipway, load);
      const steadyOnPostgres = onPostgres ? await atSteadyRate(onPostgres, load) : null;
      for (const target of targets) await target.stop();
      const roundTrips = service === undefined ? null : await measureRoundTrips(folder, service, load);
      progress("a million records");
      const list = await measureList(join(folder, "million"));
      return {
        figures: [
          ...throughput.figures,
          latencyFigure("SQLite", steady),
          ...(steadyOnPostgres ? [latencyFigure("PostgreSQL", steadyOnPostgres)] : []),
          ...(roundTrips === null ? [] : [roundTripFigure(roundTrips)]),
          list.figure,
          globFigure(),
        ],
        tables: [throughput.table, list.table],
        plots: [],
      };
    } finally {
      await load.stop();
      for (const target of targets) await target.stop();
      await postgres?.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function compare(
  targets: HookTarget[],
  { slipway, onPostgres }: { slipway: HookTarget; onPostgres: HookTarget | null },
  load: DeliveryLoad,
  progress: (message: string) => void,
) {
  const measured = targets.map(() => ({
    rates: [] as number[],
    doneRates: [] as number[],
    costs: [] as number[],
  }));
  for (let round = 0; round <= rounds; round++) {
    for (const [index, target] of targets.entries()) {
      const cpuBefore = target.cpuSeconds();
      const { seconds } = await load.run({
        ...target.order,
        requests,
        from: round * requests,
        atOnce,
        perSecond: 0,
      });
      // Otherwise unfinished work of this server would slow the next one down.
      const secondsMore = await untilIdle(target);
      if (round === 0) continue;
      measured[index]?.rates.push(requests / seconds);
      measured[index]?.doneRates.push(requests / (seconds + secondsMore));
      measured[index]?.costs.push(((target.cpuSeconds() - cpuBefore) / requests) * 1e6);
    }
    progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
  }
  const answered = measured.map(({ rates }) => median(rates));
  const done = measured.map(({ doneRates }) => median(doneRates));
  const least = [
    { target: slipway, database: "SQLite", perSecond: 1_000 },
    { target: onPostgres, database: "PostgreSQL", perSecond: 600 },
  ];
  return {
    figures: least.flatMap(({ target, ...goal }) =>
      target === null ? [] : rateFigure(goal, answered[targets.indexOf(target)] ?? Number.NaN),
    ),
    table: {
      title: "Signed pushes",
      head: ["server", "answered per second", "done per second", "server CPU each", "each is recorded"],
      rows: targets.map(({ name, records }, index) => [
        name,
        digits(answered[index] ?? 0),
        digits(done[index] ?? 0),
        `${digits(median(measured[index]?.costs ?? []))} µs`,
        records ? "yes, on disk" : "no",
      ]),
    },
  };
}

function rateFigure(
  { database, perSecond }: { database: string; perSecond: number },
  measured: number,
): Figure {
  return {
    name: `deliveries a second on ${database}, each on disk when it is answered`,
    measured: digits(measured),
    toReach: `≥ ${digits(perSecond)}`,
    isReached: measured >= perSecond,
  };
}

/** Waits until a server uses no more CPU time; returns the seconds until then. */
async function untilIdle({ cpuSeconds, name }: HookTarget): Promise<number> {
  const askedAt = performance.now();
  for (let attempt = 0; attempt < 100; attempt++) {
    const before = cpuSeconds();
    const secondsSoFar = (performance.now() - askedAt) / 1000;
    await Bun.sleep(300);
    // One tick of the kernel's clock is noise; two may be a queue that is still processed.
    if (cpuSeconds() - before < 0.015) return secondsSoFar;
  }
  throw new Error(`${name} is still processing requests that it has answered.`);
}

async function atSteadyRate(target: HookTarget, load: DeliveryLoad): Promise<number[]> {
  const { latenciesMs } = await load.run({
    ...target.order,
    requests: steadyPerSecond * steadySeconds,
    from: (rounds + 1) * requests,
    atOnce,
    perSecond: steadyPerSecond,
  });
  return latenciesMs.sort((a, b) => a - b);
}

const at = (sortedMs: number[], share: number) => sortedMs[Math.floor(sortedMs.length * share)] ?? Number.NaN;

/** Counted by a proxy before the database, which takes its time, so that the rates are not measured through it. */
async function measureRoundTrips(folder: string, service: string, load: DeliveryLoad): Promise<number> {
  const database = await makePostgres(service);
  const counter = await countRoundTrips(database.url);
  const target = await startDeploy(join(folder, "proxy"), 1, counter.url);
  try {
    const order = { ...target.order, atOnce: 1, perSecond: 0, from: 0 };
    await load.run({ ...order, requests: 50 });
    const before = counter.count();
    await load.run({ ...order, requests: countedRequests, from: 50 });
    return (counter.count() - before) / countedRequests;
  } finally {
    await target.stop();
    counter.stop();
    await database.remove();
  }
}

function roundTripFigure(perDelivery: number): Figure {
  return {
    name: "round trips to PostgreSQL per accepted delivery",
    measured: digits(perDelivery),
    toReach: "≤ 9, and what is read once a second",
    isReached: perDelivery < 9.5,
  };
}

function latencyFigure(database: string, sortedMs: number[]): Figure {
  return {
    name: `answer at ${steadyPerSecond} deliveries a second, on ${database}`,
    measured: `p50 ${digits(at(sortedMs, 0.5))} ms, p99 ${digits(at(sortedMs, 0.99))} ms`,
    toReach: "p99 ≤ 40 ms",
    isReached: at(sortedMs, 0.99) <= 40,
  };
}

/** The slowest of several kinds of patterns, ordinary and hostile. */
function globFigure(): Figure {
  const kinds: ((index: number) => string)[] = [
    (index) => `src/module-${index}/**/*.ts`,
    (index) => `**/*module-${index}*/*.rs`,
    (index) => `${"*a".repeat(5 + (index % 20))}**/*b*`,
    (index) => `${"**/a*".repeat(3 + (index % 3))}b?`,
  ];
  const paths = Array.from({ length: 10_000 }, (_, index) =>
    index % 2 === 0
      ? `${"a".repeat(40)}/${"a".repeat(index % 20)}`
      : `src/module-${index % 100}/deep/er/file-${index}.tsx`,
  );
  const times = kinds.map((pattern) => {
    const globs = Array.from({ length: 100 }, (_, index) => compileGlob(pattern(index)));
    const once = () => {
      const startedAt = performance.now();
      for (const glob of globs) for (const path of paths) glob(path);
      return performance.now() - startedAt;
    };
    once();
    return median([once(), once(), once()]);
  });
  const slowest = Math.max(...times);
  return {
    name: "100 patterns against 10,000 paths, hostile ones included",
    measured: `${digits(slowest)} ms`,
    toReach: "< 100 ms",
    isReached: slowest < 100,
  };
}
