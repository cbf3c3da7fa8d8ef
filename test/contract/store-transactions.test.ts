import { describe, expect, test } from "bun:test";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleDelivery, sampleProject, sampleTask, sampleWebhookConfig } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("transactions and locks on $name", async ({ name, make }) => {
  const { store } = await setUpStore(make);

  test("a transaction does all of its work or none of it", async () => {
    const { id: projectId } = await store.projects.create(sampleProject());
    const made = await store.transaction(async (keepers) => {
      const task = await keepers.tasks.create(sampleTask({ projectId }));
      const delivery = await keepers.deliveries.create(
        sampleDelivery({ project_id: projectId, task_id: task.id }),
      );
      expect(await keepers.tasks.byId(task.id)).toEqual(task);
      return { task: task.id, delivery };
    });
    expect(await store.deliveries.byId(made.delivery)).toMatchObject({ task_id: made.task });

    let undone = 0;
    const failing = store.transaction(async (keepers) => {
      undone = (await keepers.tasks.create(sampleTask({ projectId }))).id;
      throw new Error("no");
    });
    expect(String(await failureOf(failing))).toContain("no");
    expect(await store.tasks.byId(undone)).toBeNull();
  });

  test("of concurrent transactions only the failing one is rolled back", async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, each) =>
        store.transaction(async (keepers) => {
          await keepers.meta.set(`together-${each}`, "set");
          if (each % 10 === 3) throw new Error(`unit ${each}`);
          return each;
        }),
      ),
    );
    for (const [each, outcome] of outcomes.entries()) {
      const isFailing = each % 10 === 3;
      expect(outcome.status).toBe(isFailing ? "rejected" : "fulfilled");
      expect(await store.meta.get(`together-${each}`)).toBe(isFailing ? null : "set");
    }
  });

  test("a constraint that fails in a part rolls back only that part", async () => {
    const project = await store.projects.create(sampleProject());
    await store.transaction(async (keepers) => {
      await keepers.meta.set("part", "kept");
      expect(
        await failureOf(keepers.webhookConfigs.save(sampleWebhookConfig({ projectId: 999_999 }))),
      ).toMatchObject({ code: "not_found" });
      await keepers.projects.setSecret(project.id, "after", "kept");
    });
    expect(await store.meta.get("part")).toBe("kept");
    expect(await store.projects.secrets(project.id)).toHaveLength(1);
  });

  /** A transaction that has written something and stays open until the test ends it. */
  async function openTransaction(name: string): Promise<{ end(): Promise<void> }> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
    const open = store.transaction(async (keepers) => {
      await keepers.meta.set(name, "yes");
      hasWritten();
      await ended;
    });
    await written;
    return {
      end() {
        end();
        return open;
      },
    };
  }

  test("writes of a transaction are visible to others only after its commit", async () => {
    const open = await openTransaction("hidden");
    expect(await store.meta.get("hidden")).toBeNull();
    await open.end();
    expect(await store.meta.get("hidden")).toBe("yes");
  });

  test("a read never waits for writers", async () => {
    const { id: projectId } = await store.projects.create(sampleProject());
    const task = await store.tasks.create(sampleTask({ projectId }));
    const now = new Date();
    const full = { runnerId: 1, labels: [], concurrency: 0, leaseHash: "lease", leaseUntil: now, now };
    const open = await openTransaction("writing");
    const reads: Record<string, Promise<unknown>> = {
      "the place in the queue": store.tasks.ahead(task, now),
      "the position of a task": store.tasks.positions([task], now),
      "a claim that finds nothing": store.tasks.claim(full),
      "the unfinished tasks": store.tasks.unfinishedOfProject(projectId),
      "the debounce look-up": store.deliveries.lastAccepted(projectId, { since: now, now }),
      "deliveries that were overtaken": store.deliveries.overtaken([1]),
      "a list": store.deliveries.list({ projectId }, { page: 1, pageSize: 20 }),
    };
    const waiting = new Set(Object.keys(reads));
    const answers = Object.entries(reads).map(([name, read]) => read.then(() => waiting.delete(name)));
    await Promise.race([Promise.all(answers), Bun.sleep(3_000)]);
    const late = [...waiting];
    await open.end();
    await Promise.all(answers);
    expect(late).toEqual([]);
  });

  test("a lock has one holder at a time, in order of arrival", async () => {
    const order: number[] = [];
    let inside = 0;
    await Promise.all(
      Array.from({ length: 20 }, (_, each) =>
        store.withLock("fifo", 5000, async () => {
          inside++;
          expect(inside).toBe(1);
          await new Promise((resolve) => setImmediate(resolve));
          order.push(each);
          inside--;
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 20 }, (_, each) => each));
  });

  test("a lock that is not acquired in time answers timeout without running the work, and is released after a throw", async () => {
    let release = () => {};
    const holder = store.withLock(
      "slow",
      1000,
      () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    );
    let hasRun = false;
    const answer = await store.withLock("slow", 20, async () => {
      hasRun = true;
    });
    expect(answer).toBe("timeout");
    expect(hasRun).toBe(false);
    expect(await store.withLock("other name", 20, async () => "free")).toBe("free");
    release();
    await holder;
    const throwing = store.withLock("slow", 1000, async () => {
      throw new Error("inside");
    });
    expect(String(await failureOf(throwing))).toContain("inside");
    expect(await store.withLock("slow", 1000, async () => "free")).toBe("free");
  });

  test("the store uses the time of the database", async () => {
    expect(Math.abs((await store.now()).getTime() - Date.now())).toBeLessThan(60_000);
    await store.check();
    expect(store.describe()).toStartWith(name);
    expect(store.describe()).not.toContain("slipway:slipway");
  });
});
