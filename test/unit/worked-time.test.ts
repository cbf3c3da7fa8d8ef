import { expect, test } from "bun:test";
import type { TaskApproval } from "../../src/model/approval/task-approval.ts";
import { type Task, workedMs } from "../../src/model/task.ts";

const at = (second: number) => new Date(second * 1000);
const worked = (started: number | null, finished: number | null, asked?: number, answered?: number) =>
  workedMs({
    startedAt: started === null ? null : at(started),
    finishedAt: finished === null ? null : at(finished),
    approval:
      asked === undefined
        ? null
        : ({
            requestedAt: at(asked).toISOString(),
            at: answered === undefined ? null : at(answered).toISOString(),
          } as TaskApproval),
  } satisfies Pick<Task, "startedAt" | "finishedAt" | "approval">);

test("the duration of a task does not contain its wait for an approval", () => {
  expect(worked(null, 9)).toBeNull();
  expect(worked(1, null)).toBeNull();
  expect(worked(10, 30)).toBe(20_000);
  expect(worked(10, 100, 20, 90)).toBe(20_000);
  // Nobody answered.
  expect(worked(10, 100, 20)).toBe(10_000);
  // A rollback to a kept release starts after its approval.
  expect(worked(95, 100, 20, 90)).toBe(5_000);
});
