import { afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { RunTask } from "../../src/runner/protocol.ts";
import { eventually } from "../support/eventually.ts";
import {
  type FakeServer,
  sampleInstruction,
  sampleService,
  startFakeServer,
} from "../support/fake-server.ts";
import { leaveFormerService } from "../support/former-service.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { endScriptsIn, isAlive, signalIfAlive, watchProcesses } from "../support/process-watch.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let repository: GitRepository;
let server: FakeServer;
let runner: ReturnType<typeof startRunnerProcess>;
let root: string;
/** What the start script of version 1.0 has left running. */
let left: number;

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
});
beforeEach(async () => {
  root = temporaryFolder("former");
  mkdirSync(join(root, "releases/1/1/source"), { recursive: true });
  left = leaveFormerService(join(root, "releases/1/1"));
  server = startFakeServer();
  runner = startRunnerProcess(server.url, "token", 1, {
    ...{ SLIPWAY_RUNNER_ENGINE: "none", SLIPWAY_RUNNER_DIR: root },
  });
  await eventually("the runner asks for work", () => server.claims > 0);
});
afterEach(async () => {
  await runner.stop();
  server.stop();
  endScriptsIn(root);
  signalIfAlive(left, "SIGKILL");
});

async function run(more: Partial<RunTask>): Promise<string> {
  server.instructions.push({ ...sampleInstruction(repository.url, {}, { taskId: 2 }), ...more });
  await eventually("the task is finished", () => server.finished.length > 0);
  const [{ state, reason } = { state: "", reason: "" }] = server.finished;
  return state === "success" ? state : JSON.stringify(reason);
}

test("a service of version 1.0 goes on until the first deploy, which ends it before a service takes its place", async () => {
  expect(isAlive(left)).toBeTrue();
  const watch = watchProcesses();
  const command = `[ -d /proc/${left} ] && exit 7; echo $$ >${watch.file}; exec sleep 300`;
  expect(await run({ services: [sampleService(command, { port: "none" })] })).toBe("success");
  expect(isAlive(left)).toBeFalse();
  expect(watch.alive()).toHaveLength(1);
});

test("one that starts beside it ends it only when it serves", async () => {
  const command = `[ -d /proc/${left} ] || exit 7; exec sleep 300`;
  expect(await run({ services: [sampleService(command)] })).toBe("success");
  expect(isAlive(left)).toBeFalse();
});

test("a start beside it that fails leaves it alone", async () => {
  expect(await run({ services: [sampleService("exit 3")] })).toContain("web");
  expect(isAlive(left)).toBeTrue();
  expect(existsSync(join(root, "releases/1/1/source"))).toBeTrue();
});

test("a deploy of a release without services ends it too; a task that only builds does not", async () => {
  expect(await run({ services: null, stages: [] })).toBe("success");
  expect(isAlive(left)).toBeTrue();
  server.finished.length = 0;
  expect(await run({ taskId: 3, services: [] })).toBe("success");
  expect(isAlive(left)).toBeFalse();
});
