import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import type { RunTask } from "../../src/runner/protocol.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeServer, sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { serviceUrl } from "../support/services.ts";

let repository: GitRepository;
let server: FakeServer;
let runner: ReturnType<typeof startRunnerProcess>;
let number = 0;

const startRunner = () =>
  startRunnerProcess(server.url, "token", 1, {
    SLIPWAY_RUNNER_ISOLATION: "sandbox",
    SLIPWAY_RUNNER_ENGINE: "none",
  });

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  server = startFakeServer();
  runner = startRunner();
});
afterAll(async () => {
  await runner.stop();
  server.stop();
});

/** Ignores SIGTERM, and has a daemon without environment in a session of its own. */
function stubborn(): { script: string; alive(): string } {
  const seconds = String(50_000 + process.pid + ++number * 7);
  const script = `trap '' TERM; env -i setsid sh -c 'trap "" TERM; sleep ${seconds}; sleep ${seconds}' & echo running; sleep ${seconds}; sleep ${seconds}`;
  return { script, alive: () => Bun.spawnSync(["pgrep", "-f", `sleep ${seconds}`]).stdout.toString() };
}

async function begin(more: Partial<RunTask> = {}, leaseMs = 60_000) {
  const { script, alive } = stubborn();
  const taskId = ++number;
  const from = server.lines.length;
  const instruction = sampleInstruction(
    repository.url,
    { build: script },
    { taskId, logFrom: from, ...more },
    leaseMs,
  );
  server.instructions.push(instruction);
  return { taskId, alive, from, instruction };
}

const running = (from: number) =>
  eventually("the script runs", () => server.lines.slice(from).some(({ text }) => text === "running"));
const ended = (taskId: number) => server.finished.find((each) => each.taskId === taskId);
const stepFiles = () =>
  readdirSync("/dev/shm").filter((name) => name.startsWith(`slipway-env-${runner.pid}-`));

describe.skipIf(!(await serviceUrl("bwrap")))("everything in a sandbox ends", () => {
  test("when its task is canceled", async () => {
    const { taskId, alive, from } = await begin();
    await running(from);
    await eventually("it is alive", () => alive() !== "");
    expect(stepFiles().length).toBe(1);
    server.answer = { continue: false, why: "canceled" };
    await eventually("it is canceled", () => ended(taskId) !== undefined);
    server.answer = { continue: true };
    expect(ended(taskId)?.state).toBe("canceled");
    expect(alive()).toBe("");
    expect(stepFiles()).toEqual([]);
  });

  test("with a word before: SIGTERM reaches the script first", async () => {
    const taskId = ++number;
    const from = server.lines.length;
    const build = "trap 'echo goodbye; exit 3' TERM; echo running; while :; do sleep 0.1; done";
    const { limits } = sampleInstruction(repository.url, {});
    server.instructions.push(
      sampleInstruction(
        repository.url,
        { build },
        { taskId, logFrom: from, limits: { ...limits, stopGraceMs: 20_000 } },
      ),
    );
    await running(from);
    server.answer = { continue: false, why: "canceled" };
    await eventually("it is canceled", () => ended(taskId) !== undefined);
    server.answer = { continue: true };
    expect(server.lines.slice(from).map(({ text }) => text)).toContain("goodbye");
  });

  test("when its stage takes too long", async () => {
    const { script, alive } = stubborn();
    const taskId = ++number;
    const instruction = sampleInstruction(
      repository.url,
      { build: script },
      { taskId, logFrom: server.lines.length },
    );
    const stages = instruction.stages.map((stage) => ({
      ...stage,
      steps: stage.steps.map((step) => ({ ...step, timeoutMs: 1000 })),
    }));
    server.instructions.push({ ...instruction, stages });
    await eventually("it ends", () => ended(taskId) !== undefined);
    expect(ended(taskId)?.state).toBe("timeout");
    expect(alive()).toBe("");
  });

  test("when the runner cannot renew its lease", async () => {
    const { alive, from } = await begin({}, 8000);
    await running(from);
    server.disturb = () => 503;
    await eventually("nothing is alive", () => alive() === "");
    server.disturb = () => null;
    const { claims } = server;
    await eventually("it asks for work again", () => server.claims > claims);
  });

  test("when the runner hangs", async () => {
    const { alive, from } = await begin({}, 8000);
    await running(from);
    process.kill(runner.pid, "SIGSTOP");
    try {
      await eventually("nothing is alive", () => alive() === "");
    } finally {
      process.kill(runner.pid, "SIGCONT");
    }
    const { claims } = server;
    await eventually("it asks for work again", () => server.claims > claims + 1);
  });

  test("when the runner is killed", async () => {
    const { alive, from } = await begin();
    await running(from);
    const killed = runner.pid;
    process.kill(killed, "SIGKILL");
    await eventually("nothing is alive", () => alive() === "");
    runner = startRunner();
    await eventually("its files are removed", () =>
      readdirSync("/dev/shm").every((name) => !name.startsWith(`slipway-env-${killed}-`)),
    );
    expect(existsSync(`/proc/${killed}/exe`)).toBe(false);
  });
});
