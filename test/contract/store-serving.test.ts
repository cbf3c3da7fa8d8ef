import { describe, expect, test } from "bun:test";
import type { TaskStage } from "../../src/model/task.ts";
import { reportStage } from "../../src/task/hand-out/report-stage.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("what serves is known on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const { stages } = sampleProject();
  const stageOf = (name: TaskStage["name"], state: TaskStage["state"]): TaskStage => ({
    ...{ name, state, startedAt: null, finishedAt: null, exitCode: null },
  });

  /** A task whose deploy runs is canceled; then its runner reports that it ends the previous service. */
  async function replacing(supersededBy: number | null) {
    const { id: projectId } = await store.projects.create(
      sampleProject({ stages: { ...stages, start: { ...stages.start, previous: "stop-first" } } }),
    );
    const previous = await store.tasks.create(sampleTask({ projectId }));
    await store.projects.setLive(projectId, { liveTaskId: previous.id });
    const { id: taskId } = await store.tasks.create(sampleTask({ projectId }));
    const held = { taskId, attempt: 1, runnerId: 1, leaseHash: "lease", leaseMs: 60_000 };
    const { attempt, runnerId, leaseHash } = held;
    await store.tasks.change(taskId, {
      whileIn: ["queued"],
      set: {
        ...{ state: "canceling", supersededBy, attempt, runnerId, leaseHash, leaseUntil: sampleTime },
        ...{ startedAt: sampleTime, stages: [stageOf("deploy", "running"), stageOf("start", "pending")] },
      },
    });
    const request = { stage: "start", state: "running", exitCode: null, endsPrevious: true } as const;
    await store.run(reportStage, { held, request, consoleUrl: "" });
    const project = await store.projects.byId(projectId);
    const task = await store.tasks.byId(taskId);
    return { isLive: project?.liveTaskId === previous.id, start: task?.stages[1]?.state };
  }

  test("a superseded task whose deploy had begun continues, and the service that it ends is not called live", async () => {
    expect(await replacing(7)).toEqual({ isLive: false, start: "running" });
  });

  test("a task that was canceled ends nothing more", async () => {
    expect(await replacing(null)).toEqual({ isLive: true, start: "pending" });
  });
});
