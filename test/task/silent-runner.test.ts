import { describe, expect, test } from "bun:test";
import { setUpProtocol } from "../support/api-setup.ts";
import { wireLines } from "../support/protocol-scene.ts";

/** Longer than a busy machine delays a call. */
const leaseMs = 5000;

const scene = await setUpProtocol({ "tasks.lease": leaseMs });

/** The next task. A claim waits for less than a lease. */
async function claimNext() {
  for (;;) {
    const claimed = await scene.runner.claim();
    if (claimed !== null) return claimed;
  }
}

describe("a runner that falls silent", () => {
  test("before deploy was acknowledged: the task is queued once more, and its late calls change nothing", async () => {
    const zombie = await scene.claimed();
    await scene.stage(zombie, "build", "running");
    const again = await claimNext();
    expect(again).toMatchObject({ taskId: zombie.taskId, attempt: 2 });
    const before = await scene.client.task(zombie.taskId);
    for (const late of [
      await scene.runner.call("beat", zombie, { waitMs: 0 }),
      await scene.runner.call("log", zombie, { from: 0, lines: wireLines(1) }),
      await scene.stage(zombie, "deploy", "running"),
      await scene.finish(zombie),
    ])
      expect(late).toEqual({ status: 409, body: { continue: false, why: "lease_lost" } });
    expect(await scene.client.task(zombie.taskId)).toEqual(before);
    await scene.finish(again);
  });

  test("after deploy was acknowledged: the task is lost", async () => {
    const held = await scene.claimed();
    await scene.stage(held, "deploy", "running");
    expect((await scene.client.reach(held.taskId, "lost")).reason).toContain("vanished during deploy");
    expect((await scene.finish(held)).status).toBe(409);
  });

  test("after it reported that the previous release still serves: that release stays live", async () => {
    const first = await scene.claimed();
    for (const state of ["running", "success"]) await scene.stage(first, "deploy", state);
    await scene.runner.call("finish", first, {
      ...{ state: "success", reason: "", kept: [{ taskId: first.taskId, bytes: 1 }] },
    });
    const { projectId } = await scene.client.task(first.taskId);
    const { id } = await scene.client.run(projectId);
    const second = await scene.runner.claim();
    if (second?.taskId !== id) throw new Error("the second task was not claimed");
    await scene.stage(second, "deploy", "running");
    const told = { toTaskId: first.taskId, state: "unneeded", reason: "its script never ran" };
    expect((await scene.runner.call("rollback", second, told)).status).toBe(200);
    await scene.client.reach(id, "lost");
    expect(await scene.server.admin.expect<object>(200, "GET", `/api/projects/${projectId}`)).toMatchObject({
      liveTaskId: first.taskId,
    });
  });

  test("twice: the task is lost and not tried a third time", async () => {
    const first = await scene.claimed();
    const second = await claimNext();
    expect(second).toMatchObject({ taskId: first.taskId, attempt: 2 });
    expect((await scene.client.reach(first.taskId, "lost")).reason).toContain("a second time");
  });

  test("while its task was being canceled: the task is canceled", async () => {
    const held = await scene.claimed();
    await scene.server.admin.expect(200, "POST", `/api/tasks/${held.taskId}/cancel`);
    expect(await scene.client.reach(held.taskId, "canceled")).toMatchObject({ reason: "canceled by admin" });
  });
});
