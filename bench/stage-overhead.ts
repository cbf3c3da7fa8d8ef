/**
 * What a stage costs beside its script: without isolation, in a sandbox, and in a container; and how long checkout and seal of
 * a workspace of 300 MB take. Whole servers with their local runners, by the API, so that an earlier version can be compared:
 *
 *   node_modules/.bin/bun bench/stage-overhead.ts [tasks] [--before PATH]
 *
 * PATH is a checkout whose packages are installed. Versions before 2.0 have no sandbox; their checkouts are not sealed.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Scripts } from "../test/support/deploy-server.ts";
import { type GitRepository, makeRepository } from "../test/support/git-repository.ts";
import { findPodman, testImage } from "../test/support/podman.ts";
import { type ServerProcess, startServerProcess } from "../test/support/server-process.ts";
import { temporaryFolder } from "../test/support/temporary-folder.ts";
import { median } from "./benchmark.ts";
import { type Checkout, checkouts } from "./checkouts.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { before: { type: "string" } },
});
const tasks = Number(positionals[0] ?? 20);
/** Each writes 300 MB. */
const largeTasks = 3;
if (values.before !== undefined) process.env.BENCH_BEFORE = values.before;

interface Kind {
  name: string;
  isolation: "none" | "sandbox";
  settings: Record<string, string>;
  project: Record<string, unknown>;
}

const engine = {
  "runner-engine": "podman",
  "runner-engine-arguments": await findPodman(),
};
const kinds: Kind[] = [
  { name: "without isolation", isolation: "none", settings: { "runner-engine": "none" }, project: {} },
  { name: "in a sandbox", isolation: "sandbox", settings: { "runner-engine": "none" }, project: {} },
  { name: "in a container", isolation: "none", settings: engine, project: { image: testImage } },
];

const small = await makeRepository();
await small.push({ "app.txt": "one\n" });
const large = await makeRepository();
const text = crypto.getRandomValues(new Uint8Array(30_000)).toHex().repeat(5);
await large.push(
  Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`files/${index}`, `${index}${text}`])),
);

for (const checkout of checkouts())
  for (const kind of kinds) {
    const server = await start(checkout, kind);
    if (server === null) continue;
    const label = `${checkout.name}, ${kind.name}:`.padEnd(40);
    const ofStage = await measure(server, small, { build: "true" }, kind, tasks);
    console.log(`${label} a stage ${milliseconds(ofStage.build)}`);
    if (kind.project.image === undefined) {
      const built = await measure(server, large, { build: "true" }, kind, largeTasks);
      const deployed = await measure(server, large, { build: "true", deploy: "true" }, kind, largeTasks);
      console.log(
        `${label} 300 MB: checkout and build ${milliseconds(built.all)}, with deploy ${milliseconds(deployed.all)}`,
      );
    }
    await server.end("SIGTERM");
  }
for (const repository of [small, large]) repository.remove();
process.exit(0);

/** Null: this version has no such isolation. */
function start({ root }: Checkout, { isolation, settings }: Kind): Promise<ServerProcess | null> {
  const hasSandbox = existsSync(join(root, "src/runner/sandbox"));
  if (!hasSandbox && isolation === "sandbox") return Promise.resolve(null);
  const all = { ...settings, ...(hasSandbox ? { "runner-isolation": isolation } : {}) };
  return startServerProcess(temporaryFolder("bench"), all, [], {}, join(root, "src/main.ts"));
}

/** Milliseconds of each task: of its build stage, and from its start to its end. The first task clones and is not counted. */
async function measure(
  server: ServerProcess,
  { url }: GitRepository,
  scripts: Scripts,
  { project }: Kind,
  count: number,
): Promise<{ build: number[]; all: number[] }> {
  const projectId = await server.project(url, scripts, project);
  const times: { build: number[]; all: number[] } = { build: [], all: [] };
  for (let round = 0; round <= count; round++) {
    const task = await server.reach((await server.run(projectId)).id, "success");
    const stage = task.stages.find(({ name }) => name === "build");
    if (round === 0) continue;
    times.build.push(between(stage?.startedAt, stage?.finishedAt));
    times.all.push(between(task.startedAt, task.finishedAt));
  }
  return times;
}

function between(from: string | null | undefined, to: string | null | undefined): number {
  if (!from || !to) throw new Error("A task has no times.");
  return Date.parse(to) - Date.parse(from);
}

function milliseconds(times: number[]): string {
  const highest = times.toSorted((a, b) => a - b)[Math.floor(0.9 * (times.length - 1))] ?? 0;
  return `median ${median(times).toFixed(0)} ms, 90 % ${highest.toFixed(0)} ms`;
}
