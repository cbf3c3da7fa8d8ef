import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import type { RunTask } from "../../src/runner/protocol.ts";
import { setUpProtocol } from "../support/api-setup.ts";

const clock = manualClock(Date.now());
const tenMinutes = 10 * 60_000;

const scene = await setUpProtocol({ "tasks.lease": 86_400_000 }, clock);

/** A task whose deploy may take an hour. */
const claimed = () =>
  scene.claimed({ stages: { build: { script: "make" }, deploy: { script: "make deploy", timeout: 3600 } } });

async function shortenTimeout({ projectId }: RunTask): Promise<void> {
  const stages = { deploy: { timeout: 60 } };
  await scene.server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { stages });
}

async function deployMayTakeAnHour(held: RunTask): Promise<void> {
  const beat = async () => (await scene.runner.call("beat", held, { waitMs: 0 })).body;
  expect(await beat()).toEqual({ continue: true });
  clock.advance(tenMinutes);
  expect(await beat()).toEqual({ continue: true });
  clock.advance(6 * tenMinutes);
  expect(await beat()).toEqual({ continue: false, why: "timeout" });
  await scene.finish(held, "timeout");
}

describe("the server allows a stage the time that its runner was given", () => {
  test("also if the project's timeout was changed while it runs", async () => {
    const held = await claimed();
    await scene.stage(held, "deploy", "running");
    await shortenTimeout(held);
    await deployMayTakeAnHour(held);
  });

  test("in a rollback, that of the release", async () => {
    const first = await claimed();
    for (const state of ["running", "success"]) await scene.stage(first, "deploy", state);
    const kept = [{ taskId: first.taskId, bytes: 1 }];
    await scene.runner.call("finish", first, { state: "success", reason: "", kept });
    await shortenTimeout(first);
    const path = `/api/projects/${first.projectId}/rollback`;
    const { id } = await scene.server.admin.expect<{ id: number }>(201, "POST", path, {
      taskId: first.taskId,
    });
    const held = await scene.runner.claim();
    if (held?.taskId !== id) throw new Error("the rollback was not claimed");
    expect(held.stages.at(-1)).toMatchObject({ name: "deploy", steps: [{ timeoutMs: 3_600_000 }] });
    await scene.stage(held, "deploy", "running");
    await deployMayTakeAnHour(held);
  });
});
