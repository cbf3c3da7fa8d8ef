import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { systemClock } from "../../src/clock.ts";
import type { Transfer } from "../../src/model/service/transfer.ts";
import { transferFeature } from "../../src/runner/protocol.ts";
import { buildWakeups } from "../../src/task/events/wakeups.ts";
import { claimTask } from "../../src/task/queue.ts";
import { transferFolder } from "../../src/task/transfer/transfer-files.ts";
import { buildTransfers } from "../../src/task/transfer/transfers.ts";
import { openTestStore } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { sampleProject, sampleRunner, sampleTask } from "../support/samples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("transfer-store");
const root = join(folder, "parts");
let aheadMs = 0;
const clock = { now: () => systemClock.now() + aheadMs, elapsed: systemClock.elapsed };
const store = await openTestStore(`sqlite:${join(folder, "slipway.db")}`, clock);
const quotaBytes = 1_000_000;
const transfers = buildTransfers({
  ...{ store, wakeups: buildWakeups(), files: transferFolder(root), quotaBytes },
  log: pino({ level: "silent" }),
});
afterAll(() => store.close());

const ended = AbortSignal.abort();
const half = Buffer.alloc(quotaBytes / 2);

/** A task that a runner holds, which needs a release of another one. */
async function scene() {
  const runner = async (name: string) => {
    const made = await store.runners.create(
      sampleRunner(`${name} ${crypto.randomUUID()}`, { labels: [name] }),
    );
    await store.runners.update(made.id, { lastSeenAt: store.now(), features: [transferFeature] });
    return made;
  };
  const [from, to] = [await runner("from"), await runner("to")];
  const project = await store.projects.create(sampleProject({ labels: ["to"] }));
  const deploys = { projectId: project.id, taskId: 0, digest: null };
  const {
    id: builtBy,
    ref,
    message,
    author,
  } = await store.tasks.create(sampleTask({ projectId: project.id }));
  await store.tasks.change(builtBy, {
    whileIn: ["queued"],
    set: { state: "success", finishedAt: store.now() },
  });
  const task = await store.tasks.create(
    sampleTask({ projectId: project.id, deploys: { ...deploys, taskId: builtBy } }),
  );
  await store.releases.put({
    ...{ taskId: builtBy, projectId: project.id, runnerId: from.id, attempt: 1, state: "kept" },
    ...{ ref, message, author, pipeline: project.pipeline, env: {}, images: {} },
    ...{ commit: "", promotedFrom: null, digest: null, bytes: null },
    ...{ place: 1, replacedPlace: 0, deployedAt: store.now(), endedAt: null, rolledBackAt: null },
  });
  const leaseHash = crypto.randomUUID();
  const lease = { runnerId: to.id, leaseHash, leaseUntil: new Date(store.now().getTime() + 60_000) };
  await store.run(claimTask, { ...lease, now: store.now() });
  const held = { taskId: task.id, attempt: 1, runnerId: to.id, leaseHash, leaseMs: 60_000 };
  return {
    from,
    held,
    async begin(): Promise<string> {
      const begun = await transfers.begin(held, { kind: "release", root: "/here" });
      if (begun?.state !== "begun") throw new Error(JSON.stringify(begun));
      expect(await transfers.take(from.id)).toMatchObject([{ id: begun.id }]);
      return begun.id;
    },
  };
}

const silentFor = (ms: number): Partial<Transfer> => ({ movedAt: new Date(store.now().getTime() - ms) });

describe("transfers on the server", () => {
  beforeEach(async () => {
    for (const { key } of await store.transfers.all()) await store.transfers.delete(key);
  });

  test("what a failed try has stored does not count any more, and is gone", async () => {
    const { from, begin, held } = await scene();
    const first = await begin();
    for (const part of [0, 1])
      expect(await transfers.sent(from, first, part, half)).toEqual({ state: "waiting" });
    await transfers.ended(from, { id: first, isFinal: false, reason: "the line was cut" });
    expect(await store.transfers.totalBytes()).toBe(0);
    await eventually("its parts are gone", () => !existsSync(join(root, first)));
    const second = await begin();
    for (const part of [0, 1])
      expect(await transfers.sent(from, second, part, half)).toEqual({ state: "waiting" });
    expect(await transfers.part(held, { id: second, part: 1 }, ended)).toHaveLength(half.byteLength);
  });

  test("what a try has stored that is asked for again does not count any more, and is gone", async () => {
    const { from, begin } = await scene();
    const first = await begin();
    for (const part of [0, 1]) await transfers.sent(from, first, part, half);
    const second = await begin();
    expect(await transfers.sent(from, second, 0, half)).toEqual({ state: "waiting" });
    await eventually("its parts are gone", () => !existsSync(join(root, first)));
  });

  test("a part that is still on its way is waited for as long as its call may take", async () => {
    const { begin, held } = await scene();
    const id = await begin();
    const next = () => transfers.part(held, { id, part: 0 }, ended);
    await store.transfers.change(id, ["sending"], silentFor(130_000));
    expect(await next()).toEqual({ state: "waiting" });
    await store.transfers.change(id, ["sending"], silentFor(150_000));
    expect(await next()).toMatchObject({ state: "failed", isFinal: false });
  });

  test.each([3_600_000, -7_200_000])("a clock that is set by %d ms changes no silence", async (stepMs) => {
    const { begin } = await scene();
    const id = await begin();
    const before = store.now().getTime();
    aheadMs += stepMs;
    await eventually("the store has noticed", async () => {
      await store.transfers.byKey(id);
      return Math.abs(store.now().getTime() - before) > 1_000_000;
    });
    const { movedAt } = (await store.transfers.byKey(id)) ?? {};
    expect(Math.abs(store.now().getTime() - Number(movedAt))).toBeLessThan(30_000);
  });

  test("empty parts take something of the quota", async () => {
    const { from, begin } = await scene();
    const id = await begin();
    const states = new Set<string>();
    for (let part = 0; part < 100; part++)
      states.add((await transfers.sent(from, id, part, Buffer.alloc(0))).state);
    expect([...states]).toEqual(["waiting", "failed"]);
  });
});
