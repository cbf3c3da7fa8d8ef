import { describe, expect, test } from "bun:test";
import type { Runner } from "../../src/model/runner.ts";
import type { Store } from "../../src/model/store.ts";
import type { LogLine, Task, TaskClaim } from "../../src/model/task.ts";
import { claimTask, expireLease, giveBackTask } from "../../src/task/queue.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleProject, sampleRunner, sampleStage, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const later = new Date(sampleTime.getTime() + 60_000);

describe.each(await availableDatabases())("tasks on $name", async ({ make }) => {
  const { database, store } = await setUpStore(make);

  const addRunner = async (name: string, change: Partial<Runner> = {}) =>
    (await store.runners.create(sampleRunner(name, change))).id;
  const runnerId = await addRunner("any", { concurrency: 100 });
  const addProject = async (labels: string[] = []) =>
    (await store.projects.create(sampleProject({ labels }))).id;
  const claimWith = (change: Partial<TaskClaim> = {}): Promise<Task | null> =>
    store.run(claimTask, { runnerId, leaseHash: "lease", leaseUntil: later, now: sampleTime, ...change });
  const finish = (task: Task | null) =>
    store.tasks.change(task?.id ?? 0, {
      whileIn: ["dispatched", "running", "canceling"],
      set: { state: "success", finishedAt: later },
    });
  const emptyQueue = async () => {
    for (let task = await claimWith(); task !== null; task = await claimWith()) await finish(task);
  };

  test("a task comes back as it was made, dates and stages included", async () => {
    const projectId = await addProject();
    const made = await store.tasks.create(
      sampleTask({
        projectId,
        actions: { build: false, fromStage: "deploy" },
        notBefore: later,
        deliveryId: 12,
        stages: [sampleStage("build", { state: "running", startedAt: sampleTime })],
      }),
    );
    expect(await store.tasks.byId(made.id)).toEqual(made);
    expect(made).toMatchObject({ state: "queued", attempt: 0, leaseHash: null, startedAt: null });
    expect(await store.tasks.byId(999_999)).toBeNull();
    await store.tasks.change(made.id, { whileIn: ["queued"], set: { state: "canceled" } });
  });

  test("a task of a project that does not exist is refused in a sentence", async () => {
    expect(await failureOf(store.tasks.create(sampleTask({ projectId: 999_999 })))).toMatchObject({
      code: "not_found",
      message: "Project 999999 does not exist.",
    });
  });

  test("a change applies only in the states it names and with the lease it holds", async () => {
    const projectId = await addProject();
    const { id } = await store.tasks.create(sampleTask({ projectId }));
    expect(await store.tasks.change(id, { whileIn: ["running"], set: { reason: "no" } })).toBeNull();
    const claimed = await claimWith({ leaseHash: "mine" });
    expect(claimed).toMatchObject({ id, state: "dispatched", attempt: 1, leaseHash: "mine", runnerId });
    expect(
      await store.tasks.change(id, { whileIn: ["dispatched"], leaseHash: "old", set: { state: "failed" } }),
    ).toBeNull();
    const running = await store.tasks.change(id, {
      whileIn: ["dispatched"],
      leaseHash: "mine",
      set: { state: "running", startedAt: sampleTime, commit: null },
    });
    expect(running).toMatchObject({ state: "running", startedAt: sampleTime, commit: null });
    await finish(running);
  });

  test("claims go by priority, then age, one task of a project at a time, and not before their time", async () => {
    await emptyQueue();
    const [first, second] = [await addProject(), await addProject()];
    const webhook = await store.tasks.create(sampleTask({ projectId: first }));
    const sameProject = await store.tasks.create(sampleTask({ projectId: first, priority: 5 }));
    const waiting = await store.tasks.create(sampleTask({ projectId: second, notBefore: later }));
    expect(await store.tasks.positions([webhook], sampleTime)).toEqual({ [webhook.id]: 2 });
    expect((await claimWith())?.id).toBe(sameProject.id);
    expect(await claimWith()).toBeNull();
    expect(await store.tasks.nextNotBefore(sampleTime)).toEqual(later);
    expect((await claimWith({ now: later }))?.id).toBe(waiting.id);
    await finish(sameProject);
    expect((await claimWith())?.id).toBe(webhook.id);
    await finish(webhook);
    await finish(waiting);
    expect(await store.tasks.nextNotBefore(sampleTime)).toBeNull();
  });

  test("a position counts what must start before a task, and nothing that it would overtake", async () => {
    await emptyQueue();
    const [first, second, third] = [await addProject(), await addProject(), await addProject()];
    const ofFirst = await store.tasks.create(sampleTask({ projectId: first }));
    const nextOfFirst = await store.tasks.create(sampleTask({ projectId: first }));
    const debounced = await store.tasks.create(sampleTask({ projectId: second, notBefore: later }));
    const last = await store.tasks.create(sampleTask({ projectId: third }));
    const positionOf = async (task: Task) => {
      const all = await store.tasks.positions([ofFirst, nextOfFirst, debounced, last], sampleTime);
      return all[task.id];
    };
    expect(await positionOf(ofFirst)).toBe(1);
    expect(await positionOf(nextOfFirst)).toBe(2);
    // Of the first project only one task can be with a runner; the second project waits for its time.
    expect(await positionOf(last)).toBe(2);
    expect(await positionOf(debounced)).toBe(2);
    await claimWith();
    expect(await positionOf(last)).toBe(1);
    for (const task of [ofFirst, nextOfFirst, debounced, last]) await finish(task);
  });

  test("a change that needs a lease as it was leaves a task whose runner has renewed", async () => {
    await emptyQueue();
    const { id } = await store.tasks.create(sampleTask({ projectId: await addProject() }));
    const claimed = await claimWith({ leaseHash: "mine" });
    const until = claimed?.leaseUntil ?? sampleTime;
    const take = (leaseUntil: Date) =>
      store.tasks.change(id, {
        whileIn: ["dispatched"],
        leaseHash: "mine",
        leaseUntil,
        set: { state: "queued" },
      });
    expect(await take(new Date(until.getTime() + 1))).toBeNull();
    expect(await take(new Date(until.getTime() - 1))).toBeNull();
    expect(await take(until)).toMatchObject({ state: "queued" });
    await finish(claimed);
  });

  test("a runner takes only tasks whose labels it has, and only as many as it may hold", async () => {
    await emptyQueue();
    const [gpu, plain] = [await addProject(["linux", "gpu"]), await addProject()];
    const heavy = await store.tasks.create(sampleTask({ projectId: gpu }));
    const light = await store.tasks.create(sampleTask({ projectId: plain }));
    const one = await addRunner("one", { labels: ["linux"], concurrency: 1 });
    await store.runners.update(one, { alsoUnlabelled: true });
    const other = await addRunner("other", { labels: ["gpu", "linux", "arm"] });
    expect((await claimWith({ runnerId: one }))?.id).toBe(light.id);
    await store.runners.update(one, { labels: ["gpu", "linux"] });
    expect(await claimWith({ runnerId: one })).toBeNull();
    expect((await claimWith({ runnerId: other }))?.id).toBe(heavy.id);
    await finish(heavy);
    await finish(light);
  });

  test("a disabled runner takes no task, also with a claim that began before", async () => {
    await emptyQueue();
    const off = await addRunner("disabled", { disabled: true });
    const task = await store.tasks.create(sampleTask({ projectId: await addProject() }));
    expect(await claimWith({ runnerId: off })).toBeNull();
    await store.runners.update(off, { disabled: false });
    expect((await claimWith({ runnerId: off }))?.id).toBe(task.id);
    await finish(task);
    await store.runners.delete(off);
  });

  test("claims that race take each task once and never two of one project", async () => {
    await emptyQueue();
    const other = await database.open();
    const projectIds = await Promise.all(Array.from({ length: 5 }, () => addProject()));
    for (const projectId of projectIds)
      for (let each = 0; each < 4; each++) await store.tasks.create(sampleTask({ projectId }));
    const runnerIds = await Promise.all(Array.from({ length: 8 }, (_, each) => addRunner(`racer ${each}`)));
    const claimed: number[] = [];
    for (let round = 0; round < 40 && claimed.length < 20; round++) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, each) =>
          (each % 2 === 0 ? store : other).run(claimTask, {
            ...{
              runnerId: runnerIds[each] ?? 0,
              leaseHash: `lease ${each}`,
              leaseUntil: later,
              now: sampleTime,
            },
          }),
        ),
      );
      const won = answers.filter((task) => task !== null);
      expect(new Set(won.map((task) => task.projectId)).size).toBe(won.length);
      claimed.push(...won.map((task) => task.id));
      for (const task of won) await finish(task);
    }
    expect(new Set(claimed).size).toBe(20);
  });

  test("a claim that comes back late does not give back a task that another runner has by now", async () => {
    await emptyQueue();
    const { id } = await store.tasks.create(sampleTask({ projectId: await addProject() }));
    const givenBack = async (leaseHash: string) =>
      (await store.run(giveBackTask, { id, leaseHash, consoleUrl: "" }))?.task ?? null;
    await claimWith({ leaseHash: "first" });
    const lease = { id, leaseHash: "first", leaseUntil: later };
    expect((await store.run(expireLease, { lease, consoleUrl: "" }))?.task.state).toBe("queued");
    const second = await claimWith({ leaseHash: "second" });
    expect(await givenBack("first")).toBeNull();
    expect(await store.run(expireLease, { lease, consoleUrl: "" })).toBeNull();
    expect(await store.tasks.byId(id)).toEqual(second);
    expect(await givenBack("second")).toMatchObject({ state: "queued", attempt: 1, leaseHash: null });
    await store.tasks.change(id, { whileIn: ["queued"], set: { state: "canceled" } });
  });

  test("leases are those of tasks with a runner", async () => {
    await emptyQueue();
    const task = await store.tasks.create(sampleTask({ projectId: await addProject() }));
    expect(await store.tasks.leases()).toEqual([]);
    await claimWith({ leaseHash: "mine", leaseUntil: later });
    expect(await store.tasks.leases()).toEqual([{ id: task.id, leaseHash: "mine", leaseUntil: later }]);
    await finish(task);
    expect(await store.tasks.leases()).toEqual([]);
  });

  test("a task that was made in the future, before a clock was set back, does not wait for its time", async () => {
    await emptyQueue();
    const projectId = await addProject();
    const [hourMs, windowMs] = [3_600_000, 10_000];
    const ahead = (ms: number) => new Date(sampleTime.getTime() + ms);
    const stuck = await store.tasks.create(
      sampleTask({ projectId, createdAt: ahead(hourMs), notBefore: ahead(hourMs + windowMs) }),
    );
    expect((await claimWith())?.id).toBe(stuck.id);
    await finish(stuck);
    const waiting = await store.tasks.create(
      sampleTask({ projectId, createdAt: ahead(1_000), notBefore: ahead(windowMs) }),
    );
    expect(await claimWith()).toBeNull();
    await finish(waiting);
  });

  test("lists are newest first, by project, group, state, ref and what the caller may view", async () => {
    const group = await store.groups.create({ name: "listed", createdAt: sampleTime });
    const projectId = (await store.projects.create(sampleProject({ groupId: group.id }))).id;
    const foreign = await addProject();
    const first = await store.tasks.create(sampleTask({ projectId }));
    const second = await store.tasks.create(sampleTask({ projectId, ref: "refs/tags/v1" }));
    const third = await store.tasks.create(sampleTask({ projectId: foreign }));
    const idsOf = async (filter: Parameters<Store["tasks"]["list"]>[0]) =>
      (await store.tasks.list(filter, { page: 1, pageSize: 20 })).items.map((task) => task.id);
    expect(await idsOf({ projectId })).toEqual([second.id, first.id]);
    expect(await idsOf({ groupId: group.id })).toEqual([second.id, first.id]);
    expect(await idsOf({ projectId, ref: "refs/tags/v1" })).toEqual([second.id]);
    expect(await idsOf({ visibleProjectIds: [foreign], state: "queued" })).toEqual([third.id]);
    expect(await idsOf({ projectId, visibleProjectIds: [foreign] })).toEqual([]);
    expect(await idsOf({ visibleProjectIds: [] })).toEqual([]);
    expect((await store.tasks.lastOfProjects([projectId, foreign])).map((task) => task.id).sort()).toEqual(
      [second.id, third.id].sort(),
    );
    expect((await store.tasks.unfinishedOfProject(projectId)).map((task) => task.id)).toEqual([
      first.id,
      second.id,
    ]);
    const before = await store.tasks.countByState();
    await finish(await claimWith());
    const after = await store.tasks.countByState();
    expect(after.queued).toBe(before.queued - 1);
    expect(after.success).toBe(before.success + 1);
  });

  const lines = (from: number, texts: string[]): LogLine[] =>
    texts.map((text, offset) => ({
      index: from + offset,
      stage: "build",
      step: "test",
      at: sampleTime,
      text,
    }));

  test("log lines are stored once and in order: duplicates are dropped, gaps refused", async () => {
    const { id } = await store.tasks.create(sampleTask({ projectId: await addProject() }));
    expect(await store.tasks.nextLogIndex(id)).toBe(0);
    expect(await store.tasks.appendLog(id, lines(0, ["a", "b"]))).toBe(2);
    expect(await store.tasks.appendLog(id, lines(1, ["b", "ü", "d\u0000"]))).toBe(4);
    expect(await store.tasks.appendLog(id, lines(6, ["late"]))).toBe(4);
    expect(await store.tasks.appendLog(id, lines(0, ["a"]))).toBe(4);
    expect(await store.tasks.appendLog(id, [])).toBe(4);
    expect((await store.tasks.log(id, 0, 100)).map((line) => line.text)).toEqual(["a", "b", "ü", "d\u0000"]);
    expect(await store.tasks.log(id, 1, 2)).toEqual(lines(1, ["b", "ü"]));
    expect(await store.tasks.log(id, 3, 100)).toEqual(lines(3, ["d\u0000"]));
    expect(await store.tasks.log(id, 9, 100)).toEqual([]);
    expect(await store.tasks.logBytes(id)).toBe(6 + 4 * 32);
    expect(await failureOf(store.tasks.appendLog(999_999, lines(0, ["a"])))).toMatchObject({
      code: "not_found",
    });
  });

  test("the same lines sent twice at once are stored once", async () => {
    const { id } = await store.tasks.create(sampleTask({ projectId: await addProject() }));
    const answers = await Promise.all(
      [1, 2, 3].map(() => store.tasks.appendLog(id, lines(0, ["a", "b", "c"]))),
    );
    expect(answers).toEqual([3, 3, 3]);
    expect(await store.tasks.log(id, 0, 100)).toHaveLength(3);
  });

  test("runners are found by token and by being the local one", async () => {
    const made = await store.runners.create(sampleRunner("north", { labels: ["linux"] }));
    expect(await store.runners.byTokenHash("north")).toEqual(made);
    expect(await store.runners.localOne()).toBeNull();
    const local = await store.runners.create(sampleRunner("local", { local: true }));
    expect(await store.runners.localOne()).toEqual(local);
    expect(
      await store.runners.update(made.id, { lastSeenAt: later, version: "1.2", disabled: true }),
    ).toEqual({
      ...made,
      lastSeenAt: later,
      version: "1.2",
      disabled: true,
    });
    expect(await failureOf(store.runners.update(local.id, { name: "north" }))).toMatchObject({
      code: "conflict",
    });
    const { items, total } = await store.runners.list({ page: 1, pageSize: 1 });
    expect([items.length, total > 1]).toEqual([1, true]);
    expect(await store.runners.delete(made.id)).toBe(true);
    expect(await store.runners.byId(made.id)).toBeNull();
  });
});
