import { afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceState } from "../../src/runner/workspace/state.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeServer, sampleInstruction, startFakeServer, withStart } from "../support/fake-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { isAlive, type ProcessWatch, signalIfAlive, watchProcesses } from "../support/process-watch.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type Runner = ReturnType<typeof startRunnerProcess>;

let repository: GitRepository;
let server: FakeServer;
let root: string;
let watch: ProcessWatch;
let runners: Runner[];

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
});
beforeEach(() => {
  server = startFakeServer();
  root = temporaryFolder("root");
  watch = watchProcesses();
  runners = [];
});
afterEach(async () => {
  server.disturb = () => null;
  for (const runner of runners) await runner.stop();
  server.stop();
  for (const pid of watch.alive()) signalIfAlive(pid, "SIGKILL");
});

/** Waits until it has removed what it found at its start. */
async function startRunner(): Promise<Runner> {
  const claims = server.claims;
  const settings = { SLIPWAY_RUNNER_DIR: root, SLIPWAY_RUNNER_ENGINE: "none" };
  const runner = startRunnerProcess(server.url, "token", 1, settings);
  runners.push(runner);
  await eventually("the runner asks for work", () => server.claims > claims);
  return runner;
}

function serviceTask(taskId: number, leaseMs: number) {
  const script = `echo $CI_TASK_ID >serving.txt; sleep 300 & echo $! >>${watch.file}`;
  const instruction = sampleInstruction(repository.url, { start: script }, { taskId }, leaseMs);
  return {
    ...instruction,
    stages: withStart(instruction.stages, { previous: "stop-first" }),
    release: { isKept: true, from: null, previous: null },
  };
}

const stateOf = () => {
  const file = join(root, "releases/1/1/state.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as WorkspaceState) : null;
};
const isRecorded = () => stateOf()?.services.length === 1;

/** From the moment at which the service is recorded: before, the runner would give the task up with its service. */
function breakLink(): void {
  server.disturb = () => (isRecorded() ? 503 : null);
}

const workspaces = () => readdirSync(join(root, "releases/1")).filter((name) => /^\d+$/.test(name));
const servingIn = (name: string) => join(root, "releases/1", name, "source/serving.txt");

/** The runner has left the service to itself, and has not closed the workspace. */
const isReleased = () => isRecorded() && stateOf()?.trees.length === 0;

test("a service that became healthy while the server was away keeps its workspace until it ends", async () => {
  breakLink();
  const runner = await startRunner();
  server.instructions.push(serviceTask(1, 8000));
  const [pid = 0] = await watch.all(1);
  await eventually("the task is given up", async () => (await runner.log()).includes("task ended"));
  expect(server.finished).toEqual([]);
  expect(isAlive(pid)).toBeTrue();
  expect(existsSync(servingIn("1"))).toBeTrue();

  // The next deploy ends the service and removes its workspace, which was never a release.
  server.stages.length = 0;
  server.disturb = () => null;
  server.instructions.push(serviceTask(2, 60_000));
  await eventually("the next task is finished", () => server.finished.length > 0);
  expect(server.finished).toMatchObject([{ taskId: 2, state: "success", kept: [{ taskId: 2 }] }]);
  expect(isAlive(pid)).toBeFalse();
  expect(workspaces()).toEqual(["2"]);
});

test("a service whose runner was killed before it kept the workspace still has it after the next start", async () => {
  breakLink();
  const killed = await startRunner();
  server.instructions.push(serviceTask(1, 60_000));
  const [pid = 0] = await watch.all(1);
  await eventually("the runner leaves the service to itself", () => isReleased());
  process.kill(killed.pid, "SIGKILL");
  server.disturb = () => null;
  const next = await startRunner();
  expect(isAlive(pid)).toBeTrue();
  expect(existsSync(servingIn("1"))).toBeTrue();

  await next.stop();
  process.kill(pid, "SIGKILL");
  await eventually("the service has ended", () => !isAlive(pid));
  await startRunner();
  expect(workspaces()).toEqual([]);
});
