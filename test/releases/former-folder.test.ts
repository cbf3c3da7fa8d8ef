import { afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { systemClock } from "../../src/clock.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { openWorkspaces } from "../../src/runner/workspace/workspace.ts";
import { eventually } from "../support/eventually.ts";
import {
  type FakeServer,
  sampleInstruction,
  sampleService,
  startFakeServer,
} from "../support/fake-server.ts";
import { leaveFormerService } from "../support/former-service.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { isAlive, type ProcessWatch, signalIfAlive, watchProcesses } from "../support/process-watch.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
let repository: GitRepository;
let commit: string;
let server: FakeServer;
let dataDir: string;
let root: string;
let watch: ProcessWatch;
let runner: ReturnType<typeof startRunnerProcess>;
/** What the start script of task 1 has left running in the former folder, as version 1.0 recorded it. */
let first: number;

beforeAll(async () => {
  repository = await makeRepository();
  commit = await repository.push({ "app.txt": "one\n" });
});

/** The runner has deployed task 1 in the data folder, and was started again with `runner.dir`. */
beforeEach(async () => {
  server = startFakeServer();
  dataDir = temporaryFolder("data");
  root = temporaryFolder("root");
  watch = watchProcesses();
  runner = startRunner({ SLIPWAY_RUNNER_DIR: join(dataDir, "runner") });
  await run(sampleInstruction(repository.url, { deploy: "true" }));
  await runner.stop();
  first = leaveFormerService(formerly("1"));
  runner = startRunner({ SLIPWAY_RUNNER_DIR: root });
});
afterEach(async () => {
  await runner.stop();
  server.stop();
  for (const pid of [first, ...watch.alive()]) signalIfAlive(pid, "SIGKILL");
  for (const folder of [dataDir, root]) rmSync(folder, { recursive: true, force: true });
});

function startRunner(settings: Record<string, string> = {}): typeof runner {
  const flags = ["--data-dir", dataDir];
  return startRunnerProcess(
    server.url,
    "token",
    1,
    { SLIPWAY_RUNNER_ENGINE: "none", ...settings },
    { flags },
  );
}

const serve = () => `echo $$ >>${watch.file}; exec sleep 300`;

function serviceTask(taskId: number, command = serve()): RunTask {
  const services = [sampleService(command, { port: "none" })];
  const release = { isKept: true, from: null, previous: null };
  return { ...sampleInstruction(repository.url, {}, { taskId }), services, release };
}

/** Its result. */
async function run(instruction: RunTask) {
  const count = server.finished.length;
  server.instructions.push(instruction);
  await eventually("the task is finished", () => server.finished.length > count);
  return server.finished.at(-1);
}

const releaseOf = (taskId: number) => ({
  ...{ taskId, attempt: 1, ref: "refs/heads/main", commit, message: "", author: "" },
});
const projectIn = (folder: string) => join(folder, "releases", "1");
const formerly = (name: string) => join(projectIn(join(dataDir, "runner")), name);
const workspacesIn = (folder: string) => readdirSync(projectIn(folder));

test("the next deploy ends the service that runs in the former folder, and its workspace goes with its release", async () => {
  expect(isAlive(first)).toBeTrue();
  const result = await run(serviceTask(2));
  expect(isAlive(first)).toBeFalse();
  expect(result).toMatchObject({ state: "success", kept: [{ taskId: 2 }, { taskId: 1 }] });
  const [second = 0] = await watch.all(1);
  expect(isAlive(second)).toBeTrue();
  for (const taskId of [3, 4]) await run(serviceTask(taskId));
  expect(isAlive(second)).toBeFalse();
  expect(workspacesIn(join(dataDir, "runner"))).toEqual([]);
  expect(workspacesIn(root).toSorted()).toEqual(["2", "3", "4"]);
});

test("the release in the former folder comes back when the next deploy fails", async () => {
  const services = serviceTask(1).services ?? [];
  const previous = { ...releaseOf(1), stages: [], services, env: {} };
  const result = await run({ ...serviceTask(2, "exit 3"), release: { isKept: true, from: null, previous } });
  expect(server.lines.map(({ text }) => text)).toContain(`[${commit.slice(0, 7)} (task 1) is serving again]`);
  expect(result).toMatchObject({ state: "failed", kept: [{ taskId: 1 }] });
  const [again = 0] = await watch.all(1);
  expect(isAlive(first)).toBeFalse();
  expect(isAlive(again)).toBeTrue();
  const place = isRoot ? join(projectIn(root), "1") : formerly("1");
  expect(existsSync(join(place, "source/app.txt"))).toBeTrue();
});

test("a rollback to the release in the former folder needs no build, also as the first task in the new one", async () => {
  const release = { isKept: true, from: releaseOf(1), previous: null };
  const result = await run({ ...serviceTask(2), release });
  expect(result).toMatchObject({ state: "success", kept: [{ taskId: 1 }] });
  const [again = 0] = await watch.all(1);
  expect(isAlive(first)).toBeFalse();
  expect(isAlive(again)).toBeTrue();
  const place = isRoot ? join(projectIn(root), "1") : formerly("1");
  expect(existsSync(join(place, "source/app.txt"))).toBeTrue();
});

test.skipIf(!isRoot)(
  "a runner whose scripts run as another user moves a former release to where that user reaches it",
  async () => {
    const folders = { root, former: join(dataDir, "runner"), knownHosts: join(root, "known_hosts") };
    const owner = { name: "nobody", uid: 65_534, gid: 65_534 };
    const options = {
      ...folders,
      policy: "live",
      isUsed: () => false,
      clock: systemClock,
      log: pino({ level: "silent" }),
    } as const;
    const workspaces = openWorkspaces({ ...options, owner });
    expect(workspaces.kept(1)).toMatchObject([{ taskId: 1 }]);
    const reopened = await workspaces.reopen(1, 1, 1);
    expect(reopened?.folder).toStartWith(root);
    expect(statSync(reopened?.source ?? "").uid).toBe(owner.uid);
    expect(existsSync(formerly("1"))).toBeFalse();
  },
);
