import { describe, expect, test } from "bun:test";
import { extraFetches, extraRollbacks, slowFetchMs, type Task } from "../../src/model/task.ts";
import { claimTask } from "../../src/task/queue.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleRunner, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("the places of a runner on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const now = new Date(sampleTime.getTime() + 60_000);
  const { pipeline } = sampleProject();

  async function newRunner(concurrency: number): Promise<{ id: number; label: string; name: string }> {
    const label = `only-${crypto.randomUUID()}`;
    const { id, name } = await store.runners.create(sampleRunner(label, { labels: [label], concurrency }));
    await store.runners.update(id, { lastSeenAt: now });
    return { id, label, name };
  }
  async function queue(label: string, change: Partial<Task> = {}): Promise<Task> {
    const { id: projectId } = await store.projects.create(sampleProject({ labels: [label] }));
    return store.tasks.create(sampleTask({ projectId, ...change }));
  }
  const claim = (runnerId: number) =>
    store.run(claimTask, { runnerId, leaseHash: crypto.randomUUID(), leaseUntil: now, now });
  const fetchedFor = (ms: number) => ({
    whileIn: ["dispatched"] as const,
    set: { state: "running", fetchingSince: new Date(now.getTime() - ms) } as const,
  });

  test("a fetch holds one only while it is fast, and at most a fixed number of slow ones is beside them", async () => {
    const { id, label, name } = await newRunner(1);
    const first = await queue(label);
    for (let i = 0; i < extraFetches + 1; i++) await queue(label);
    expect((await claim(id))?.id).toBe(first.id);
    await store.tasks.change(first.id, fetchedFor(slowFetchMs / 2));
    expect(await claim(id)).toBeNull();
    const { projectId } = await queue(label);
    expect(await store.tasks.fullRunners([projectId], now)).toEqual({ [projectId]: name });
    await store.tasks.change(first.id, { ...fetchedFor(slowFetchMs * 2), whileIn: ["running"] });
    expect(await store.tasks.fullRunners([projectId], now)).toEqual({});
    for (let i = 0; i < extraFetches; i++) {
      const next = await claim(id);
      expect(next).not.toBeNull();
      await store.tasks.change(next?.id ?? 0, fetchedFor(slowFetchMs * 2));
    }
    expect(await claim(id)).toBeNull();
  });

  test("a rollback to a release that the runner keeps needs none, up to a fixed number", async () => {
    const { id, label } = await newRunner(1);
    await queue(label);
    expect(await claim(id)).not.toBeNull();
    async function rollback(state: "kept" | "gone"): Promise<Task> {
      const { id: taskId, projectId, ref, message, author } = await queue(label);
      await store.tasks.change(taskId, { whileIn: ["queued"], set: { state: "success", finishedAt: now } });
      await store.releases.put({
        ...{ taskId, projectId, attempt: 1, runnerId: id, state, ref, commit: "", message, author, pipeline },
        ...{
          env: {},
          digest: null,
          bytes: null,
          place: 1,
          replacedPlace: 0,
          deployedAt: now,
          endedAt: null,
          rolledBackAt: null,
          images: {},
          promotedFrom: null,
        },
      });
      return store.tasks.create(sampleTask({ projectId, rollbackTo: taskId }));
    }
    await rollback("gone");
    expect(await claim(id)).toBeNull();
    for (let i = 0; i < extraFetches + extraRollbacks; i++) {
      const { id: taskId } = await rollback("kept");
      expect((await claim(id))?.id).toBe(taskId);
    }
    await rollback("kept");
    expect(await claim(id)).toBeNull();
  });
});
