import { beforeEach, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { setUpProtocol } from "../support/api-setup.ts";

const leaseMs = 60_000;
const timeoutMs = 600_000;
/** Longer than the grace of a stop and the time after which a task is given up. */
const endMs = 60_000 + 5 * leaseMs;
let aheadMs = 0;

const clock = { ...systemClock, elapsed: () => performance.now() + aheadMs };
const scene = await setUpProtocol({ "tasks.lease": leaseMs, "tasks.timeout": timeoutMs }, clock);
beforeEach(() => {
  aheadMs = 0;
});

const beat = async (held: RunTask) => (await scene.runner.call("beat", held, { waitMs: 0 })).body;

describe("a runner that renews its lease, but does not end its task", () => {
  test("after a cancel: the task is canceled, and the next one of the project is handed out", async () => {
    const held = await scene.claimed();
    await scene.stage(held, "build", "running");
    const { projectId } = await scene.client.task(held.taskId);
    await scene.server.admin.expect(200, "POST", `/api/tasks/${held.taskId}/cancel`);
    expect(await beat(held)).toEqual({ continue: false, why: "canceled" });
    expect((await scene.client.task(held.taskId)).state).toBe("canceling");
    aheadMs += endMs;
    expect(await beat(held)).toEqual({ continue: false, why: "lease_lost" });
    expect((await scene.client.task(held.taskId)).state).toBe("canceled");
    const next = await scene.client.run(projectId);
    expect((await scene.runner.claim())?.taskId).toBe(next.id);
  });

  test("without a running stage: it is told to stop after the time of a checkout, then the task times out", async () => {
    const held = await scene.claimed();
    await scene.stage(held, "checkout", "running");
    expect(await beat(held)).toEqual({ continue: true });
    aheadMs += timeoutMs + 60_000;
    expect(await beat(held)).toEqual({ continue: false, why: "timeout" });
    aheadMs += endMs;
    expect(await beat(held)).toEqual({ continue: false, why: "lease_lost" });
    const task = await scene.client.task(held.taskId);
    expect(task).toMatchObject({ state: "timeout", reason: expect.stringContaining("did not end the task") });
  });

  test("during a deploy: the task is lost, because nobody knows how far it came", async () => {
    const held = await scene.claimed();
    await scene.stage(held, "deploy", "running");
    expect(await beat(held)).toEqual({ continue: true });
    aheadMs += timeoutMs + 60_000;
    expect(await beat(held)).toEqual({ continue: false, why: "timeout" });
    aheadMs += endMs;
    await beat(held);
    expect((await scene.client.task(held.taskId)).state).toBe("lost");
  });

  test("progress gives it time again", async () => {
    const held = await scene.claimed();
    await beat(held);
    aheadMs += timeoutMs;
    await scene.stage(held, "build", "running");
    aheadMs += timeoutMs;
    expect(await beat(held)).toEqual({ continue: true });
    await scene.finish(held);
  });
});
