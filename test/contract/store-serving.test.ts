import { describe, expect, test } from "bun:test";
import type { Project } from "../../src/model/project.ts";
import type { Task, TaskStage } from "../../src/model/task.ts";
import { finishTask, reportRollback, reportStage } from "../../src/task/queue.ts";
import { releaseInstruction } from "../../src/task/release/release-instruction.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleStage, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("what serves is known on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const { pipeline } = sampleProject();
  const runnerId = 1;
  const consoleUrl = "";
  const stageOf = (name: TaskStage["name"], state: TaskStage["state"]) => sampleStage(name, { state });

  async function projectWithReleases(): Promise<Project> {
    return store.projects.create(sampleProject());
  }

  /** A task that has deployed, and its release. */
  async function deployed({ id: projectId }: Project, deployedAt = sampleTime): Promise<Task> {
    const task = await store.tasks.create(sampleTask({ projectId }));
    const { ref, message, author } = task;
    await store.releases.put({
      ...{ taskId: task.id, projectId, attempt: 1, runnerId, state: "kept", ref, message, author },
      ...{
        commit: task.commit ?? "",
        pipeline,
        env: {},
        digest: null,
        bytes: 1,
        deployedAt,
        endedAt: null,
        rolledBackAt: null,
        images: {},
        promotedFrom: null,
      },
      ...{ place: 1, replacedPlace: 0 },
    });
    return task;
  }

  /** A task with a runner, in this state. */
  async function held({ id: projectId }: Project, set: Partial<Task>) {
    const { id: taskId } = await store.tasks.create(sampleTask({ projectId }));
    const lease = { taskId, attempt: 1, runnerId, leaseHash: "lease", leaseMs: 60_000 };
    const { attempt, leaseHash } = lease;
    await store.tasks.change(taskId, {
      whileIn: ["queued"],
      set: { attempt, runnerId, leaseHash, leaseUntil: sampleTime, startedAt: sampleTime, ...set },
    });
    return lease;
  }
  type Held = Awaited<ReturnType<typeof held>>;

  test("a release keeps the first digest that its runner reports", async () => {
    const project = await projectWithReleases();
    const { id: taskId } = await deployed(project);
    const reported = async (digest?: string) => {
      await store.releases.keepOnly(project.id, runnerId, [{ taskId, bytes: 1, digest }]);
      return (await store.releases.ofTask(taskId))?.digest;
    };
    expect(await reported()).toBeNull();
    expect(await reported("first")).toBe("first");
    expect(await reported("second")).toBe("first");
    expect(await reported()).toBe("first");
  });

  const finish = (lease: Held, state: "failed" | "canceled") =>
    store.run(finishTask, {
      ...{ held: lease, state, reason: "", kept: undefined, isWorkspaceLost: false, consoleUrl },
    });

  /** A task whose deploy runs is canceled; then its runner reports that it ends the previous service. */
  async function replacing(supersededBy: number | null) {
    const project = await projectWithReleases();
    const previous = await deployed(project);
    await store.projects.setLive(project.id, { liveTaskId: previous.id });
    const lease = await held(project, {
      ...{ state: "canceling", supersededBy },
      stages: [stageOf("deploy", "running"), stageOf("start", "pending")],
    });
    const request = { stage: "start", state: "running", exitCode: null, endsPrevious: true } as const;
    await store.run(reportStage, { held: lease, request, consoleUrl });
    const task = await store.tasks.byId(lease.taskId);
    const isLive = (await store.projects.byId(project.id))?.liveTaskId === previous.id;
    return { isLive, start: task?.stages[1]?.state };
  }

  test("a move that fails brings no earlier release back on its runner, because the earlier runner goes on", async () => {
    const project = await store.projects.create(sampleProject({ rollback: "automatic" }));
    const [there, serving] = [await deployed(project), await deployed(project)];
    await store.releases.update(there.id, { runnerId: 2 });
    await store.releases.update(serving.id, { place: 2, replacedPlace: 1 });
    const previousOf = async (move: Task["move"]) => {
      const order = sampleTask({ projectId: project.id, stages: [stageOf("deploy", "pending")] });
      const { id } = await store.tasks.create({
        ...order,
        ...{ move, deploys: { projectId: project.id, taskId: serving.id, digest: null } },
      });
      const task = await store.tasks.change(id, { whileIn: ["queued"], set: { runnerId: 2 } });
      const parts = { env: {}, now: sampleTime, step: null, servicesOf: () => [] };
      const stageOfWire = (_: unknown, name: TaskStage["name"]) => ({ name, steps: [] });
      const made =
        task && (await releaseInstruction(task, project, { ...parts, keepers: store, stageOf: stageOfWire }));
      return made?.release.previous;
    };
    expect(await previousOf(null)).toMatchObject({ taskId: there.id });
    const move = { fromRunnerId: 1, toRunnerId: 2, withData: false, stopTaskId: null };
    expect(await previousOf(move)).toBeNull();
  });

  test("a deploy serves last, also if the clock was ahead at the one before it; so does the release that a rollback restores", async () => {
    const project = await projectWithReleases();
    const ahead = new Date((await store.now()).getTime() + 7_200_000);
    const earlier = await deployed(project, ahead);
    const lease = await held(project, { state: "running", stages: [stageOf("deploy", "success")] });
    const release = await store.releases.ofTask(earlier.id);
    if (!release) throw new Error("the earlier release is missing");
    await store.releases.put({ ...release, taskId: lease.taskId, state: "candidate", place: 2 });
    const kept = [earlier.id, lease.taskId].map((taskId) => ({ taskId, bytes: 1 }));
    await store.run(finishTask, {
      ...{ held: lease, state: "success", reason: "", kept, isWorkspaceLost: false, consoleUrl },
    });
    const served = await store.releases.servedLast(project.id);
    expect(served).toMatchObject({ taskId: lease.taskId, state: "kept" });
    expect(served?.deployedAt.getTime()).toBe(ahead.getTime() + 1);

    const failing = await held(project, { state: "running", stages: [stageOf("deploy", "failed")] });
    const request = { toTaskId: earlier.id, state: "success", reason: "", isProven: true } as const;
    await store.run(reportRollback, { held: failing, request });
    expect(await store.releases.servedLast(project.id)).toMatchObject({ taskId: earlier.id });
  });

  test("a superseded task whose deploy had begun continues, and the service that it ends is not called live", async () => {
    expect(await replacing(7)).toEqual({ isLive: false, start: "running" });
  });

  test("a task that was canceled ends nothing more", async () => {
    expect(await replacing(null)).toEqual({ isLive: true, start: "pending" });
  });

  test.each([
    ["during its build leaves the live task", "running", "pending", true],
    ["during its deploy makes it unknown what serves", "success", "running", false],
  ] as const)("a task that ends as canceled %s", async (_, build, deploy, staysLive) => {
    const project = await projectWithReleases();
    const { id: liveTaskId } = await deployed(project);
    await store.projects.setLive(project.id, { liveTaskId });
    const lease = await held(project, {
      state: "canceling",
      stages: [stageOf("build", build), stageOf("deploy", deploy), stageOf("start", "pending")],
    });
    const finished = await finish(lease, "canceled");
    expect(finished?.task.stages.at(-1)?.state).toBe("canceled");
    const { liveTaskId: live, liveNote } = (await store.projects.byId(project.id)) ?? {};
    expect(live).toBe(staysLive ? liveTaskId : null);
    expect(liveNote === "").toBe(staysLive);
  });

  /** A task whose deploy is announced fails before its script runs. */
  async function failedBeforeScript(project: Project, previous: Task, liveTaskId: number | null) {
    await store.projects.setLive(project.id, { liveTaskId });
    const lease = await held(project, { state: "running", stages: [stageOf("deploy", "pending")] });
    const deploying = { stage: "deploy", state: "running", exitCode: null } as const;
    await store.run(reportStage, { held: lease, request: deploying, consoleUrl });
    const unneeded = { toTaskId: previous.id, state: "unneeded", reason: "" } as const;
    await store.run(reportRollback, { held: lease, request: unneeded });
    const finished = await finish(lease, "failed");
    return { task: finished?.task, project: await store.projects.byId(project.id) };
  }

  test("a deploy that changed nothing makes no release live that was not known to serve", async () => {
    const project = await projectWithReleases();
    const ended = await failedBeforeScript(project, await deployed(project), null);
    expect(ended).toMatchObject({ task: { rollback: null, reason: "" }, project: { liveTaskId: null } });
    expect(ended.project?.liveNote).toMatchObject({ code: "live_failed" });
  });

  test("a deploy that changed nothing leaves the live task, also if that has brought an earlier release back", async () => {
    const project = await projectWithReleases();
    const previous = await deployed(project);
    const back = await store.tasks.create(sampleTask({ projectId: project.id, rollbackTo: previous.id }));
    const ended = await failedBeforeScript(project, previous, back.id);
    expect(ended.task).toMatchObject({ rollback: { state: "unneeded", taskId: previous.id } });
    expect(ended.project?.liveTaskId).toBe(back.id);
    expect(ended.project?.liveNote).toMatchObject({ code: "still_serving" });
  });

  test("a deploy that was canceled before the server recorded its begin changes nothing that is known", async () => {
    const project = await projectWithReleases();
    const { id: liveTaskId } = await deployed(project);
    await store.projects.setLive(project.id, { liveTaskId });
    const lease = await held(project, {
      state: "canceling",
      reason: "canceled by ann",
      stages: [stageOf("build", "success"), stageOf("deploy", "pending")],
    });
    const unneeded = { toTaskId: liveTaskId, state: "unneeded", reason: "" } as const;
    await store.run(reportRollback, { held: lease, request: unneeded });
    const finished = await finish(lease, "canceled");
    expect(finished?.task).toMatchObject({ rollback: null, reason: "canceled by ann" });
    expect(await store.projects.byId(project.id)).toMatchObject({ liveTaskId, liveNote: "" });
  });

  test("what a project takes on the disk is that of the runner that has its releases", async () => {
    const { id, diskMb, disk } = await projectWithReleases();
    expect({ diskMb, disk }).toEqual({ diskMb: 2048, disk: null });
    const first = { releasesBytes: 5 * 1024 ** 3, dataBytes: 0, quotaBytes: null };
    const second = { ...first, quotaBytes: 1024 };
    const shown = async () => (await store.projects.byId(id))?.disk ?? null;
    await store.projects.setDisk(id, runnerId, first);
    expect(await shown()).toEqual(first);
    await store.projects.setLive(id, { homeRunnerId: runnerId });
    await store.projects.setDisk(id, runnerId + 1, second);
    expect(await shown()).toEqual(first);
    await store.projects.setDisk(id, runnerId, second);
    expect(await shown()).toEqual(second);
  });
});
