import { describe, expect, test } from "bun:test";
import type { Task } from "../../src/model/task.ts";
import { spansOfTask, taskTraceparent } from "../../src/task/view/task-trace.ts";
import { readTraceparent } from "../../src/telemetry/trace-context.ts";
import { sampleStage, sampleTask } from "../support/samples.ts";

const second = (at: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, at));

function ended(change: Partial<Task>): Task {
  return {
    ...sampleTask({ createdAt: second(0) }),
    id: 7,
    state: "success",
    reason: "",
    supersededBy: null,
    approval: null,
    rollback: null,
    attempt: 1,
    leaseHash: null,
    leaseUntil: null,
    runnerId: 1,
    startedAt: null,
    fetchingSince: null,
    deployingSince: null,
    serviceAction: null,
    deploys: null,
    move: null,
    targetRunnerId: null,
    pipeline: null,
    finishedAt: second(60),
    ...change,
  };
}

/** `name from-to` in seconds after the creation, with the fault. */
const shown = (task: Task) =>
  spansOfTask(task).map(({ name, startMs, endMs, fault }) => {
    const at = (ms: number) => (ms - second(0).getTime()) / 1000;
    return `${name} ${at(startMs)}-${at(endMs)}${fault === undefined ? "" : `: ${fault}`}`;
  });

const stage = (name: "build" | "deploy", from: number, to: number) =>
  sampleStage(name, { state: "success", startedAt: second(from), finishedAt: second(to), exitCode: 0 });

describe("the spans of a task", () => {
  test("cover its whole time", () => {
    const stages = [stage("build", 5, 20), stage("deploy", 20, 59)];
    expect(shown(ended({ startedAt: second(3), stages }))).toEqual([
      "task 0-60",
      "queue 0-3",
      "checkout 3-5",
      "stage build 5-20",
      "stage deploy 20-59",
    ]);
  });

  test("have one for each step with a name of its own, below its stage", () => {
    const build = stage("build", 5, 20);
    const [step] = stage("build", 5, 9).steps;
    const steps = step
      ? [
          { ...step, name: "test" },
          { ...step, name: "lint", state: "failed" as const },
        ]
      : [];
    const task = ended({ startedAt: second(3), stages: [{ ...build, steps }] });
    expect(shown(task).slice(3)).toEqual(["stage build 5-20", "step test 5-9", "step lint 5-9: failed"]);
    const [parent, ...below] = spansOfTask(task).slice(3);
    expect(below.map(({ parentSpanId }) => parentSpanId)).toEqual(
      below.map(() => parent?.context.spanId ?? ""),
    );
  });

  test("of one that no runner began are the wait alone", () => {
    expect(shown(ended({ state: "canceled", stages: [] }))).toEqual(["task 0-60", "queue 0-60"]);
  });

  test("name the failed checkout, and a stage that its runner did not end", () => {
    const lost = { state: "lost", reason: "The runner vanished.", startedAt: second(1) } as const;
    expect(shown(ended({ ...lost, stages: [] }))).toEqual([
      "task 0-60: The runner vanished.",
      "queue 0-1",
      "checkout 1-60: The runner vanished.",
    ]);
    const build = { ...stage("build", 2, 60), state: "lost" as const, finishedAt: null };
    expect(shown(ended({ ...lost, stages: [build] }))).toEqual([
      "task 0-60: The runner vanished.",
      "queue 0-1",
      "checkout 1-2",
      "stage build 2-60: lost",
    ]);
  });

  test("have the wait for an approval", () => {
    const approval = {
      ...({
        state: "approved",
        by: "ann",
        comment: "",
        notByPusher: false,
        expiresAfterMinutes: 60,
      } as const),
      ...{ requestedAt: second(10).toISOString(), at: second(40).toISOString(), expiresAt: null },
      ...{ pinned: {} as never, secretNames: [], built: null },
    };
    const stages = [stage("build", 2, 10), stage("deploy", 41, 50)];
    expect(shown(ended({ startedAt: second(1), stages, approval }))).toContain("approval 10-40");
  });

  test("have the same ids on every instance, and no two the same", () => {
    const task = ended({ startedAt: second(1), stages: [stage("build", 2, 3)] });
    const ids = spansOfTask(task).map(({ context }) => context.spanId);
    expect(spansOfTask(structuredClone(task)).map(({ context }) => context.spanId)).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(readTraceparent(taskTraceparent(task))?.spanId).toBe(ids[0] as string);
    expect(taskTraceparent({ ...task, id: 8 })).not.toBe(taskTraceparent(task));
  });

  test("are none without a trace", () => {
    expect(spansOfTask(ended({ traceparent: null }))).toEqual([]);
  });
});
