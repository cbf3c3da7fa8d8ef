import { expect, test } from "bun:test";
import { openLifeline } from "../../src/runner/process/lifeline.ts";
import { silentLog } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { childrenOf } from "../support/process-watch.ts";

/** Pids of guard processes that this process has started. */
const guards = () => childrenOf(process.pid, "runner-guard");

const limits = {
  logMaxBytes: 1,
  logBytesUsed: 0,
  checkoutTimeoutMs: 60_000,
  stopGraceMs: 60_000,
  beatEveryMs: 60_000,
  giveUpAfterMs: 60_000,
};

test("a runner has a guard process from its first task until it has had none for a while", async () => {
  const lifeline = openLifeline(silentLog, 1);
  expect(guards()).toEqual([]);
  for (const taskId of [1, 2]) {
    const first = lifeline.guard({ taskId, attempt: 1, limits });
    const second = lifeline.guard({ taskId, attempt: 2, limits });
    await eventually("there is one guard", () => guards().length === 1);
    const [guard] = guards();
    first.close();
    await Bun.sleep(20); // Time enough for a guard that would end.
    expect(guards()).toEqual(guard === undefined ? [] : [guard]);
    second.close();
    await eventually("the guard has ended", () => guards().length === 0);
  }
  lifeline.close();
});

test("a guard that was killed while no task runs is replaced only for the next task", async () => {
  const lifeline = openLifeline(silentLog);
  lifeline.guard({ taskId: 1, attempt: 1, limits }).close();
  await eventually("there is one guard", () => guards().length === 1);
  const [guard] = guards();
  if (guard === undefined) throw new Error("there is no guard process");
  process.kill(guard, "SIGKILL");
  await eventually("it is gone", () => guards().length === 0);
  const task = lifeline.guard({ taskId: 2, attempt: 1, limits });
  await eventually("another guard is started", () => guards().length === 1);
  expect(guards()).not.toEqual([guard]);
  task.close();
  lifeline.close();
  await eventually("the guard has ended", () => guards().length === 0);
});
