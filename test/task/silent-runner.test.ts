import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RunTask } from "../../src/runner/protocol.ts";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { deployClient } from "../support/deploy-server.ts";
import { type ProtocolRunner, registerRunner } from "../support/protocol-runner.ts";

const leaseMs = 2000;
let server: ApiServer;
let client: Awaited<ReturnType<typeof deployClient>>;
let runner: ProtocolRunner;

beforeAll(async () => {
  server = await startApiServer({ "tasks.lease": leaseMs });
  client = await deployClient(server.url, server.dataDir);
  runner = await registerRunner(server.url, server.admin, { name: "by hand", concurrency: 20 });
}, 60_000);
afterAll(() => server.stop());

const scripts = { build: "make", deploy: "make deploy" };
const repository = "https://git.example.com/shop.git";

async function claimed(more: Record<string, unknown> = {}): Promise<RunTask> {
  const projectId = await client.project(repository, scripts, more);
  const { id } = await client.run(projectId);
  const instruction = await runner.claim();
  if (instruction?.taskId !== id) throw new Error(`claimed ${instruction?.taskId} instead of ${id}`);
  return instruction;
}

const stage = (held: RunTask, name: string, state: string) =>
  runner.call("stage", held, { stage: name, state, exitCode: state === "running" ? null : 0 });
const finish = (held: RunTask, state = "success", reason = "") =>
  runner.call("finish", held, { state, reason });
const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    stage: "build",
    at: new Date().toISOString(),
    text: `line ${index}`,
  }));

describe("a runner that falls silent", () => {
  test("before deploy was acknowledged: the task is queued once more, and its late calls change nothing", async () => {
    const zombie = await claimed();
    await stage(zombie, "build", "running");
    const again = await runner.claim();
    expect(again).toMatchObject({ taskId: zombie.taskId, attempt: 2 });
    if (!again) throw new Error("nothing was claimed");
    const before = await client.task(zombie.taskId);
    for (const late of [
      await runner.call("beat", zombie, { waitMs: 0 }),
      await runner.call("log", zombie, { from: 0, lines: lines(1) }),
      await stage(zombie, "deploy", "running"),
      await finish(zombie),
    ])
      expect(late).toEqual({ status: 409, body: { continue: false, why: "lease_lost" } });
    expect(await client.task(zombie.taskId)).toEqual(before);
    await finish(again);
  });

  test("after deploy was acknowledged: the task is lost", async () => {
    const held = await claimed();
    await stage(held, "deploy", "running");
    expect((await client.reach(held.taskId, "lost")).reason).toContain("vanished during deploy");
    expect((await finish(held)).status).toBe(409);
  });

  test("twice: the task is lost and not tried a third time", async () => {
    const first = await claimed();
    const second = await runner.claim();
    expect(second).toMatchObject({ taskId: first.taskId, attempt: 2 });
    expect((await client.reach(first.taskId, "lost")).reason).toContain("a second time");
  });

  test("while its task was being canceled: the task is canceled", async () => {
    const held = await claimed();
    await server.admin.expect(200, "POST", `/api/tasks/${held.taskId}/cancel`);
    expect(await client.reach(held.taskId, "canceled")).toMatchObject({ reason: "canceled by admin" });
  });
});
