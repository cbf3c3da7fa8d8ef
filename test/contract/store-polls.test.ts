import { describe, expect, test } from "bun:test";
import type { Store } from "../../src/model/store.ts";
import { defaultConfig } from "../../src/webhook/management.ts";
import { finishPoll, type PollResult, takePolls } from "../../src/webhook/poll/poll-operations.ts";
import { availableDatabases } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { sampleDelivery, sampleProject, sampleTask } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const everyMs = 600_000;
const lock = { name: "polls", waitMs: 5000 };
const request = { holder: "a", holdMs: 60_000, everyMs, limit: 10, failedLimit: 10 };
async function take(store: Store, holder: string, holdMs = 60_000): Promise<number[]> {
  const taken = await store.run(takePolls, { ...request, holder, holdMs }, lock);
  return taken === "timeout" ? [] : taken.map(({ projectId }) => projectId);
}

describe.each(await availableDatabases())("polls in $name", async ({ make }) => {
  const { store, database } = await setUpStore(make);

  async function project(): Promise<number> {
    const { id } = await store.projects.create(sampleProject());
    const config = { ...defaultConfig(id, new Date()), enabled: true, key: crypto.randomUUID() };
    await store.webhookConfigs.save(config);
    return id;
  }
  /** Due for certain: the time of a store is an estimate of the time of its database. */
  const aSecondAgo = () => new Date(store.now().getTime() - 1_000);
  const resultOf = (projectId: number, holder: string, more: Partial<PollResult> = {}): PollResult => ({
    ...{ projectId, holder, everyMs, found: [], isDone: true, error: "", note: "" },
    basis: { url: "u", version: "1", scope: "s" },
    ...more,
  });

  test("two servers that ask at once: each poll has one holder, until it ends or the hold expires", async () => {
    const second = await database.open();
    const id = await project();
    const taken = await Promise.all([take(store, "a"), take(second, "b")]);
    expect(taken.flat().filter((entry) => entry === id)).toHaveLength(1);
    const holder = taken[0]?.includes(id) ? "a" : "b";
    const other = holder === "a" ? "b" : "a";
    expect(await store.polls.extend(id, other, new Date())).toBe(false);
    await second.run(finishPoll, resultOf(id, other, { error: "not mine" }));
    expect(await store.polls.ofProject(id)).toMatchObject({ error: "", heldBy: holder });
    await store.run(finishPoll, resultOf(id, holder));
    expect(await store.polls.ofProject(id)).toMatchObject({ heldBy: null, url: "u" });
    expect(await take(store, "a")).not.toContain(id);
    await store.polls.makeDue(aSecondAgo(), false);
    expect(await take(store, "a", 1)).toContain(id);
    await eventually("another takes it after a millisecond", async () =>
      (await take(second, "b")).includes(id),
    );
    await store.polls.makeDue(aSecondAgo(), true);
    expect(await take(store, "c")).toContain(id);
  });

  test("projects whose last poll failed get only their part of the places, and the others come first", async () => {
    const [failed, failedToo, other] = [await project(), await project(), await project()];
    await take(store, "a");
    for (const id of [failed, failedToo])
      await store.run(finishPoll, resultOf(id, "a", { error: "no answer" }));
    await store.run(finishPoll, resultOf(other, "a"));
    await store.polls.makeDue(aSecondAgo(), true);
    const taken = await store.run(takePolls, { ...request, failedLimit: 1 }, lock);
    const ours = taken === "timeout" ? [] : taken.filter(({ projectId }) => projectId >= failed);
    expect(ours).toEqual([
      { projectId: other, hasFailed: false },
      { projectId: failed, hasFailed: true },
    ]);
    expect(await store.run(takePolls, { ...request, failedLimit: 0 }, lock)).toEqual([]);
    expect(await take(store, "a")).toEqual([failedToo]);
  });

  test("a disabled webhook is not polled", async () => {
    const id = await project();
    const config = await store.webhookConfigs.ofProject(id);
    if (config) await store.webhookConfigs.save({ ...config, enabled: false });
    expect(await take(store, "a")).not.toContain(id);
  });

  test("a tip is stored with its delivery; a poll leaves a tip alone that changed meanwhile", async () => {
    const id = await project();
    const ref = "refs/heads/main";
    const tipOf = async () =>
      (await store.refTips.ofProject(id)).map(({ commit, polledTaskId }) => [commit, polledTaskId]);
    const pushedAt = new Date(1_000_000);
    const delivery = (more = {}) => sampleDelivery({ project_id: id, host_delivery_id: "", ...more });
    await store.deliveries.create(delivery(), { ref, commit: "a", pushedAt, kind: "live" });
    expect(await tipOf()).toEqual([["a", null]]);
    const made = await store.deliveries.createWithTask(delivery(), sampleTask({ projectId: id }), {
      ...{ ref, commit: "b", pushedAt, kind: "poll" as const },
    });
    expect(await tipOf()).toEqual([["b", made.task.id]]);
    // A replay of an older push.
    const older = new Date(pushedAt.getTime() - 1);
    await store.deliveries.create(delivery(), { ref, commit: "a", pushedAt: older, kind: "replay" });
    expect(await tipOf()).toEqual([["b", made.task.id]]);
    // A push that the host sends again.
    const sent = { host_delivery_id: "h1", status: "accepted" as const, ref: "main", commit: "c" };
    await store.deliveries.create(delivery(sent), { ref, commit: "c", pushedAt, kind: "live" });
    await store.deliveries.create(delivery(), { ref, commit: "d", pushedAt, kind: "live" });
    await store.deliveries.create(delivery(sent), { ref, commit: "c", pushedAt, kind: "live" });
    expect(await tipOf()).toEqual([["d", null]]);
    await take(store, "a");
    const found = [
      { ref, commit: "x", expected: "b" },
      { ref: "refs/heads/new", commit: "y", expected: null },
    ];
    await store.run(finishPoll, resultOf(id, "a", { found }));
    expect(await tipOf()).toEqual([
      ["d", null],
      ["y", null],
    ]);
    await store.projects.delete(id);
    expect(await tipOf()).toEqual([]);
  });

  test("a thousand refs are stored and deleted at once", async () => {
    const id = await project();
    const refs = Array.from({ length: 2000 }, (_, index) => `refs/heads/b${index}`);
    await take(store, "a");
    const added = refs.map((ref) => ({ ref, commit: "1", expected: null }));
    await store.run(finishPoll, resultOf(id, "a", { found: added }));
    expect(await store.refTips.ofProject(id)).toHaveLength(2000);
    await store.polls.makeDue(aSecondAgo(), true);
    await take(store, "a");
    const removed = refs.map((ref) => ({ ref, commit: null, expected: "1" }));
    await store.run(finishPoll, resultOf(id, "a", { found: removed }));
    expect(await store.refTips.ofProject(id)).toEqual([]);
  });
});
