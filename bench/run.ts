/**
 * Measures and writes docs/performance.md:
 *
 *   npm run bench                    everything that takes minutes
 *   npm run bench -- fan-out         only this part
 *   npm run bench -- soak            twenty minutes of mixed load
 *   npm run bench -- --dry targeted  prints, writes nothing
 *   npm run bench -- --busy store    writes although other programs use the machine; the page says so
 *   npm run bench -- --before ../old start
 *                                    beside an earlier checkout, where the benchmark compares with one
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { admissions } from "./admissions.ts";
import { batches } from "./batch.ts";
import { type Benchmark, digits } from "./benchmark.ts";
import { queueThroughBroker } from "./bus.ts";
import { compression } from "./compression.ts";
import { connectionCost } from "./connections.ts";
import { deliveries } from "./delivery.ts";
import { eventStreams } from "./event-streams.ts";
import { fanOut } from "./fan-out.ts";
import { footprint } from "./footprint.ts";
import { fuzzing } from "./fuzz.ts";
import { loadPerCore, maxLoadPerCore, maxShareOfOthers, watchOthers } from "./idle-machine.ts";
import { quietNeighbours } from "./neighbours.ts";
import { emptyPage, updatePage } from "./page.ts";
import { peers } from "./peers.ts";
import { svgOf } from "./plot.ts";
import { restart } from "./restart.ts";
import { routeSwitches } from "./routes.ts";
import { soak } from "./soak.ts";
import { coldStart } from "./start.ts";
import { storeSpeed } from "./store.ts";
import { targetedPublish } from "./targeted.ts";
import { taskOverhead } from "./task.ts";
import { tokensAndLists } from "./tokens-and-lists.ts";
import { traceCost } from "./trace.ts";
import { workerProcesses } from "./workers.ts";

const benchmarks: Benchmark[] = [
  fanOut,
  eventStreams,
  targetedPublish,
  batches,
  traceCost,
  workerProcesses,
  admissions,
  tokensAndLists,
  connectionCost,
  restart,
  compression,
  quietNeighbours,
  queueThroughBroker,
  taskOverhead,
  storeSpeed,
  deliveries,
  coldStart,
  footprint,
  routeSwitches,
  soak,
  fuzzing,
  peers,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dry: { type: "boolean", default: false },
    busy: { type: "boolean", default: false },
    before: { type: "string" },
  },
});
if (values.before !== undefined) process.env.BENCH_BEFORE = values.before;
const unknown = positionals.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name));
if (unknown.length > 0) {
  const names = benchmarks.map(({ name }) => name).join(", ");
  console.error(`There is no benchmark ${unknown.join(", ")}; known are ${names}.`);
  process.exit(2);
}

const loadAtStart = loadPerCore();
if (loadAtStart > maxLoadPerCore && !values.dry && !values.busy) {
  console.error(
    `The load average is ${loadAtStart.toFixed(2)} per core, above ${maxLoadPerCore}: figures of a busy machine are not written. Wait until it is idle, or use --dry to print the figures only, or --busy to write them with a title that says so.`,
  );
  process.exit(2);
}

const docs = resolve(import.meta.dir, "../docs");
const chosen = benchmarks.filter(({ name, isLong }) =>
  positionals.length === 0 ? !isLong : positionals.includes(name),
);
let [missed, unwritten] = [0, 0];
for (const benchmark of chosen) {
  console.log(`\n${benchmark.title}`);
  const watch = watchOthers();
  const result = await benchmark.run((message) => console.log(`  … ${message}`));
  const others = watch.stop();
  for (const { title, head, rows } of result.tables) {
    console.log(`  ${title}: ${head.join(" · ")}`);
    for (const row of rows) console.log(`    ${row.join(" · ")}`);
  }
  for (const figure of result.figures) {
    if (!figure.isReached) missed++;
    const sign = figure.isReached ? "✓" : "✗";
    console.log(`  ${sign} ${figure.name}: ${figure.measured} (to reach: ${figure.toReach})`);
  }
  const use = `other programs used ${percent(others.share)} of the machine, its host took ${percent(others.stolen)}`;
  const largest = others.processes
    .slice(0, 3)
    .map(({ command, seconds }) => `${command} ${digits(seconds)} s`);
  console.log(`  ${use}${largest.length > 0 ? `: ${largest.join(", ")}` : ""}`);
  if (values.dry) continue;
  const isBusy =
    loadAtStart > maxLoadPerCore || others.share > maxShareOfOthers || others.stolen > maxShareOfOthers;
  if (isBusy && !values.busy) {
    unwritten++;
    console.log(`  Not written: ${use}, above ${percent(maxShareOfOthers)}. With --busy it is written.`);
    continue;
  }
  const path = `${docs}/performance.md`;
  const page = (await Bun.file(path).exists()) ? await Bun.file(path).text() : emptyPage;
  await Bun.write(path, updatePage(page, benchmark, result, { isBusy, use }));
  for (const plot of result.plots) await Bun.write(`${docs}/${plot.file}.svg`, svgOf(plot));
}
if (missed > 0) console.log(`\n${missed} figures were missed.`);
if (unwritten > 0) console.log(`\n${unwritten} tables were not written, because the machine was busy.`);
process.exit(missed + unwritten > 0 ? 1 : 0);

function percent(share: number): string {
  return `${digits(share * 100)} %`;
}
