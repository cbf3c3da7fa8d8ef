import { describe, expect, test } from "bun:test";
import { completePipeline } from "../../src/model/pipeline.ts";
import { maxActions, type Task, type TaskAction } from "../../src/model/task.ts";
import { deleteRunner } from "../../src/task/change-runner.ts";
import { claimTask, expireLease, reportStage } from "../../src/task/queue.ts";
import { beginAction } from "../../src/task/service/service-actions.ts";
import { waitsOf } from "../../src/task/view/task-waits.ts";
import { availableDatabases } from "../support/databases.ts";
import {
  sampleAuditEntry as audited,
  sampleProject,
  sampleRunner,
  sampleStage,
  sampleTask,
  sampleTime,
} from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const stop: TaskAction = { type: "stop", services: ["web"] };
const start: TaskAction = { type: "start", services: ["web"] };
const exec: TaskAction = { type: "exec", command: ["npm", "run", "seed"] };

describe.each(await availableDatabases())("actions with services on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const now = new Date(sampleTime.getTime() + 60_000);

  async function newRunner(concurrency = 1): Promise<number> {
    const name = `box ${crypto.randomUUID()}`;
    const { id } = await store.runners.create(sampleRunner(name, { labels: [name], concurrency }));
    return id;
  }
  /** A project whose tasks only this runner takes. */
  async function newProject(runnerId: number): Promise<number> {
    const labels = (await store.runners.byId(runnerId))?.labels ?? [];
    return (await store.projects.create(sampleProject({ labels }))).id;
  }
  const act = (projectId: number, runnerId: number, serviceAction: TaskAction): Promise<Task> =>
    store.tasks.create(sampleTask({ projectId, runnerId, serviceAction }));
  const claim = async (runnerId: number) =>
    (await store.run(claimTask, { runnerId, leaseHash: crypto.randomUUID(), leaseUntil: now, now }))?.id ??
    null;
  const end = (id: number) =>
    store.tasks.change(id, {
      whileIn: ["dispatched", "running"],
      set: { state: "success", finishedAt: now },
    });

  test("an action does not wait behind a build, nor for a place of its runner", async () => {
    const runnerId = await newRunner(1);
    const projectId = await newProject(runnerId);
    const build = await store.tasks.create(sampleTask({ projectId }));
    expect(await claim(runnerId)).toBe(build.id);
    const action = await act(projectId, runnerId, stop);
    expect(action.serviceAction).toEqual(stop);
    expect(action.runnerId).toBe(runnerId);
    expect(await claim(await newRunner())).toBeNull();
    expect(await claim(runnerId)).toBe(action.id);
    expect(await store.tasks.byId(action.id)).toMatchObject({ state: "dispatched", serviceAction: stop });
  });

  test("an action waits for a deploy or start that runs, a command too", async () => {
    const runnerId = await newRunner(1);
    const projectId = await newProject(runnerId);
    const deploy = await store.tasks.create(sampleTask({ projectId }));
    expect(await claim(runnerId)).toBe(deploy.id);
    await store.tasks.change(deploy.id, {
      whileIn: ["dispatched"],
      set: { state: "running", deployingSince: now },
    });
    const [stopping, running] = [await act(projectId, runnerId, stop), await act(projectId, runnerId, exec)];
    expect(await claim(runnerId)).toBeNull();
    await end(deploy.id);
    expect(await claim(runnerId)).toBe(stopping.id);
    expect(await claim(runnerId)).toBe(running.id);
  });

  test("changes of services follow each other; a command delays none of them, and no deploy waits for either", async () => {
    const runnerId = await newRunner(1);
    const projectId = await newProject(runnerId);
    const seed = await act(projectId, runnerId, exec);
    const first = await act(projectId, runnerId, stop);
    const second = await act(projectId, runnerId, start);
    expect(await claim(runnerId)).toBe(seed.id);
    expect(await claim(runnerId)).toBe(first.id);
    expect(await claim(runnerId)).toBeNull();
    const push = await store.tasks.create(sampleTask({ projectId }));
    expect(await claim(runnerId)).toBe(push.id);
    await end(first.id);
    expect(await claim(runnerId)).toBe(second.id);
  });

  test("a runner holds a fixed number of them", async () => {
    const runnerId = await newRunner(1);
    for (let i = 0; i < maxActions; i++) {
      const { id } = await act(await newProject(runnerId), runnerId, exec);
      expect(await claim(runnerId)).toBe(id);
    }
    const projectId = await newProject(runnerId);
    await act(projectId, runnerId, exec);
    expect(await claim(runnerId)).toBeNull();
    const push = await store.tasks.create(sampleTask({ projectId }));
    expect(await claim(runnerId)).toBe(push.id);
  });

  test("one whose runner was silent goes to the same runner again, unless it had begun", async () => {
    const runnerId = await newRunner(1);
    const { id } = await act(await newProject(runnerId), runnerId, stop);
    const silence = async () => {
      expect(await claim(runnerId)).toBe(id);
      const [lease] = (await store.tasks.leases()).filter((each) => each.id === id);
      if (lease) await store.run(expireLease, { lease, consoleUrl: "" });
      return store.tasks.byId(id);
    };
    expect(await silence()).toMatchObject({ state: "queued", runnerId });
    const stages = [sampleStage("start", { state: "running" })];
    await store.tasks.change(id, { whileIn: ["queued"], set: { stages } });
    expect(await silence()).toMatchObject({ state: "lost", runnerId });
  });

  test("one that ends what a move has left behind is repeated until a runner has done it", async () => {
    const runnerId = await newRunner(1);
    const leave: TaskAction = { type: "leave", services: ["web"] };
    const { id } = await act(await newProject(runnerId), runnerId, leave);
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(await claim(runnerId)).toBe(id);
      const stages = [sampleStage("start", { state: "running" })];
      await store.tasks.change(id, { whileIn: ["dispatched"], set: { state: "running", stages } });
      const [lease] = (await store.tasks.leases()).filter((each) => each.id === id);
      if (lease) await store.run(expireLease, { lease, consoleUrl: "" });
      expect(await store.tasks.byId(id)).toMatchObject({ state: "queued", runnerId, attempt });
    }
  });

  test("what waits for a runner that is deleted is canceled, and says so", async () => {
    const [runnerId, other] = [await newRunner(1), await newRunner(1)];
    const projectId = await newProject(runnerId);
    const leave = await act(projectId, runnerId, { type: "leave", services: ["web"] });
    const moving = await store.tasks.create(sampleTask({ projectId, targetRunnerId: runnerId }));
    const push = await store.tasks.create(sampleTask({ projectId }));
    const elsewhere = await act(projectId, other, stop);
    const { canceled } = await store.run(deleteRunner, { id: runnerId, consoleUrl: "", audited });
    expect(canceled.map(({ id }) => id)).toEqual([leave.id, moving.id]);
    expect(await store.runners.byId(runnerId)).toBeNull();
    expect(await store.tasks.byId(leave.id)).toMatchObject({
      state: "canceled",
      reason: { code: "runner_was_deleted" },
    });
    for (const { id } of [push, elsewhere])
      expect(await store.tasks.byId(id)).toMatchObject({ state: "queued" });
  });

  test("what only one runner may take says that it waits for that one", async () => {
    const [homeRunnerId, away] = [await newRunner(1), await newRunner(1)];
    const projectId = await newProject(homeRunnerId);
    await store.projects.setLive(projectId, { homeRunnerId });
    await store.runners.update(homeRunnerId, { lastSeenAt: now });
    const moving = await store.tasks.create(sampleTask({ projectId, targetRunnerId: away }));
    const leave = await act(projectId, away, { type: "leave", services: ["web"] });
    const here = await act(projectId, homeRunnerId, stop);
    const page = [moving, leave, here];
    const codes = async () => {
      const waitOf = await waitsOf(store, page, now);
      return page.map((task) => {
        const reason = waitOf(task)?.reason;
        return typeof reason === "object" && "values" in reason ? reason.values?.why : reason;
      });
    };
    expect(await codes()).toMatchObject([{ code: "wait_only_away" }, { code: "wait_only_away" }, undefined]);
    await store.runners.update(away, { lastSeenAt: now, disabled: true });
    expect(await codes()).toMatchObject([{ code: "wait_only_disabled" }, undefined, undefined]);
  });

  test("a stop and the report of a deploy at the same time do not hinder each other", async () => {
    const runnerId = await newRunner(1);
    const projectId = await newProject(runnerId);
    await store.runners.update(runnerId, { lastSeenAt: await store.now() });
    const built = await store.tasks.create(sampleTask({ projectId }));
    const { ref, message, author } = built;
    await store.releases.put({
      ...{ taskId: built.id, projectId, attempt: 1, runnerId, state: "kept", ref, message, author },
      ...{ commit: "", pipeline: completePipeline({ start: { web: { command: "serve" } } }), env: {} },
      ...{ promotedFrom: null, digest: null, bytes: 1, place: 1, replacedPlace: 0, images: {} },
      ...{ deployedAt: now, endedAt: null, rolledBackAt: null },
    });
    await store.tasks.change(built.id, { whileIn: ["queued"], set: { state: "success", finishedAt: now } });
    for (let round = 0; round < 10; round++) {
      const { id: taskId } = await store.tasks.create(sampleTask({ projectId }));
      const leaseHash = crypto.randomUUID();
      const stages = [sampleStage("start", { state: "pending" })];
      await store.tasks.change(taskId, {
        whileIn: ["queued"],
        set: {
          state: "running",
          attempt: 1,
          runnerId,
          leaseHash,
          stages,
          deployingSince: now,
          leaseUntil: now,
        },
      });
      const held = { taskId, attempt: 1, runnerId, leaseHash, leaseMs: 60_000 };
      const request = { stage: "start", state: "running", exitCode: null } as const;
      const [begun] = await Promise.all([
        store.run(beginAction, { projectId, action: stop, traceparent: null, audited, consoleUrl: "" }),
        store.run(reportStage, { held, request, consoleUrl: "" }),
      ]);
      expect(begun.canceling?.id).toBe(taskId);
      await store.tasks.change(taskId, {
        whileIn: ["canceling"],
        set: { state: "canceled", finishedAt: now },
      });
    }
  });

  test("it is not the last task, unfinished, in a queue, or a run of its project", async () => {
    const runnerId = await newRunner(1);
    const projectId = await newProject(runnerId);
    const ref = "refs/heads/lane";
    const last = await store.tasks.create(sampleTask({ projectId, ref }));
    const stateOf = async () =>
      store.deliveries.recent({
        projectId,
        placeId: projectId,
        now,
        counted: { bucket: "listed", since: now },
        window: { since: now, rawRef: null },
        pushed: { rawRef: ref, since: new Date(0) },
        queued: { priority: 0, notBefore: null },
      });
    const before = await stateOf();
    const action = await store.tasks.create(
      sampleTask({ projectId, runnerId, ref, serviceAction: stop, priority: 10 }),
    );
    const after = await stateOf();
    expect(after.queue).toEqual(before.queue);
    expect(after.sameRef?.id).toBe(last.id);
    expect(after.unfinished?.id).toBe(last.id);
    expect((await store.tasks.lastOfProjects([projectId])).map(({ id }) => id)).toEqual([last.id]);
    expect((await store.tasks.unfinishedOfProject(projectId)).map(({ id }) => id)).toEqual([last.id]);
    const positions = await store.tasks.positions([last, action], now);
    expect(positions[last.id]).toBe(await positionAlone(last));
    expect(positions[action.id]).toBeUndefined();
    expect((await store.overview.runs([projectId], 5)).map(({ id }) => id)).toEqual([last.id]);
    expect(await claim(runnerId)).toBe(action.id);
    expect(await store.overview.held([projectId])).toEqual([]);
    await end(action.id);
    await store.tasks.change(last.id, { whileIn: ["queued"], set: { state: "canceled", finishedAt: now } });
    expect((await stateOf()).unfinished).toBeNull();
    const { items } = await store.tasks.list({ projectId }, { page: 1, pageSize: 10 });
    expect(items.map(({ id }) => id)).toEqual([action.id, last.id]);
  });

  async function positionAlone(task: Task): Promise<number> {
    return (await store.tasks.positions([task], now))[task.id] ?? 0;
  }
});
