/**
 * Runs all checks and tests with the services they need, and prints a summary line at the end.
 *
 *   npm test                 everything in its short form
 *   npm run test:full        everything, whole
 *   npm test -- push cluster only these groups, without the checks
 *   npm test -- test/push/publish.test.ts only this file
 */
import { parseArgs } from "node:util";
import { stopAllNow } from "../test/support/service-process.ts";
import { provide, type ServiceState, serviceNames, variablesOf } from "../test/support/services.ts";
import { checks, runCheck } from "./test-checks.ts";
import {
  findGroups,
  type Group,
  type GroupResult,
  processesOf,
  root,
  runGroup,
  runsAlone,
} from "./test-groups.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: "boolean", default: false }, checks: { type: "boolean", default: false } },
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stopAllNow();
    process.exit(130);
  });
}

const startedAt = performance.now();
/** Processes at a time: more than cores, because many of them wait for brokers and timers. */
const lanes = 5;
/** Files whose times the summary names. */
const slowestShown = 15;
const allGroups = findGroups();
const unknown = positionals.filter(
  (wanted) => !allGroups.some(({ name, files }) => name === wanted || files.includes(wanted)),
);
if (unknown.length > 0) {
  const names = allGroups.map((group) => group.name).join(", ");
  console.error(`There is no test group or file ${unknown.join(", ")}; the groups are ${names}.`);
  process.exit(2);
}
const isWanted = (name: string) => positionals.length === 0 || positionals.includes(name);
const groups = allGroups
  .map(({ name, files }) => ({ name, files: isWanted(name) ? files : files.filter(isWanted) }))
  .filter(({ files }) => files.length > 0);
const results: GroupResult[] = [];

// Brokers start while the checks and the fast group run, which need none.
const needsServices = groups.some((group) => group.name !== "unit");
const services: Promise<ServiceState[]> = needsServices
  ? Promise.all(serviceNames.map(provide))
  : Promise.resolve([]);
services.catch(() => {});

// Tests start the program as users do; a built one takes half the time.
const building = Bun.spawn([process.execPath, "scripts/build-program.ts"], { cwd: root });

const environment: Record<string, string> = values.full ? { SLIPWAY_TEST_FULL: "1" } : {};
// The checks take longer than the fast group, and need one core of several.
const [, found] = await Promise.all([runChecks(), runTests()]);
stopAllNow();
process.exit(summarize());

async function runTests(): Promise<ServiceState[]> {
  await runUnit();
  const states = await services;
  await building.exited;
  for (const state of states) {
    if ("value" in state)
      console.log(`${state.name}: ready${state.origin === "given" ? `, named by ${state.variable}` : ""}`);
  }
  await runInLanes(
    groups.filter(({ name }) => name !== "unit"),
    { ...environment, ...variablesOf(states) },
  );
  return states;
}

async function runChecks(): Promise<void> {
  if (!values.checks && positionals.length > 0) return;
  for (const check of checks) results.push(report(await runCheck(check)));
}

async function runUnit(): Promise<void> {
  for (const group of groups.filter(({ name }) => name === "unit"))
    results.push(report(await runGroup(group, environment)));
}

/** Some groups must run alone. */
async function runInLanes(waiting: Group[], variables: Record<string, string>): Promise<void> {
  const run = async (group: Group) => results.push(report(await runGroup(group, variables)));
  const shared = waiting.filter((group) => !runsAlone(group)).flatMap(processesOf);
  const lane = async () => {
    for (let group = shared.shift(); group; group = shared.shift()) await run(group);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  for (const group of waiting.filter(runsAlone)) await run(group);
}

function report(result: GroupResult): GroupResult {
  const counts = [`${result.passed} passed`, `${result.failed} failed`];
  if (result.skipped > 0) counts.push(`${result.skipped} not run`);
  console.log(
    `${result.failed > 0 ? "✗" : "✓"} ${result.name}: ${counts.join(", ")} (${(result.ms / 1000).toFixed(1)} s)`,
  );
  return result;
}

/** Prints the summary and returns the exit code. */
function summarize(): number {
  const sum = (key: "passed" | "failed" | "skipped") =>
    results.reduce((total, result) => total + result[key], 0);
  const missing = found.filter((state) => "missing" in state);
  const isCi = Boolean(process.env.CI);
  // Under CI a skipped test is a failure, so that a green run means that everything ran.
  const leftOut = isCi ? missing.length + sum("skipped") : 0;
  const failed = sum("failed") + leftOut;
  const skipped = isCi ? 0 : sum("skipped");

  console.log("");
  for (const result of results)
    for (const failure of result.failures) console.log(`FAILED ${result.name}: ${failure}`);
  for (const state of missing) console.log(`NOT RUN for lack of ${state.name}: ${state.missing}`);
  if (leftOut > 0) console.log("Under CI, tests that did not run count as failed.");
  const slowest = results.flatMap(({ files }) => files).sort((a, b) => b.seconds - a.seconds);
  const shown = slowest.slice(0, slowestShown).filter(({ seconds }) => seconds >= 1);
  if (shown.length > 0)
    console.log(`Slowest: ${shown.map(({ file, seconds }) => `${file} ${seconds.toFixed(0)} s`).join(", ")}`);
  console.log(`Took ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
  console.log(`${sum("passed")} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  return failed > 0 || sum("passed") === 0 ? 1 : 0;
}
