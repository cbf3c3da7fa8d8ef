import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { OutgoingCall } from "../../src/model/outgoing-call.ts";
import type { Store } from "../../src/model/store.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleProject, sampleTime } from "../support/samples.ts";

const later = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);

describe.each(await availableDatabases())("outgoing calls on $name", ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  let projectId: number;
  beforeAll(async () => {
    database = await make();
    store = await database.open();
    projectId = (await store.projects.create(sampleProject())).id;
  });
  afterAll(() => database.remove());

  const call = (more: Partial<OutgoingCall> = {}): Omit<OutgoingCall, "id"> => ({
    projectId,
    kind: "notification",
    subject: null,
    url: "https://hooks.example/",
    messageId: "msg_1",
    proof: "signature",
    body: "{}",
    attempts: 1,
    nextTryAt: later(5),
    createdAt: sampleTime,
    ...more,
  });
  const add = async (more: Partial<OutgoingCall> = {}) =>
    (await store.outgoingCalls.add(call(more), 1000)) ?? 0;
  const clear = async () => {
    for (const { id } of await store.outgoingCalls.takeDue(later(1e6), later(1e6 + 60), 1000))
      await store.outgoingCalls.delete(id);
  };

  test("that wait longer than any retry does, since a clock was set back, are due", async () => {
    const [stuck, waiting] = [
      await add({ nextTryAt: later(3_600), createdAt: later(3_595) }),
      await add({ nextTryAt: later(600) }),
    ];
    const taken = await store.outgoingCalls.takeDue(sampleTime, later(60), 10);
    expect(taken.map(({ id }) => id)).toEqual([stuck]);
    expect(waiting).toBeGreaterThan(0);
    await clear();
  });

  test("are taken when they are due, the longest due first, and by one instance alone", async () => {
    const [second, first, notYet] = [
      await add({ nextTryAt: later(3) }),
      await add({ nextTryAt: later(2) }),
      await add({ nextTryAt: later(9) }),
    ];
    expect(await store.outgoingCalls.nextDue()).toEqual(later(2));
    expect(await store.outgoingCalls.takeDue(later(4), later(64), 1)).toEqual([
      { ...call({ attempts: 2, nextTryAt: later(64) }), id: first },
    ]);
    const other = await database.open();
    const [mine, theirs] = await Promise.all(
      [store, other].map((each) => each.outgoingCalls.takeDue(later(4), later(64), 10)),
    );
    expect([...(mine ?? []), ...(theirs ?? [])].map(({ id }) => id)).toEqual([second]);
    expect(await store.outgoingCalls.takeDue(later(4), later(64), 10)).toEqual([]);
    expect(await store.outgoingCalls.nextDue()).toEqual(later(9));
    expect(await store.outgoingCalls.count()).toBe(3);
    expect(notYet).toBeGreaterThan(0);
    await clear();
  });

  test("are put off by whoever has them, not by one whose time had run out", async () => {
    const id = await add({ nextTryAt: later(1) });
    expect(await store.outgoingCalls.putOff({ id, attempts: 1 }, later(2))).toBe(true);
    const [taken] = await store.outgoingCalls.takeDue(later(2), later(60), 10);
    expect(taken).toMatchObject({ id, attempts: 2 });
    expect(await store.outgoingCalls.putOff({ id, attempts: 1 }, later(3))).toBe(false);
    expect(await store.outgoingCalls.nextDue()).toEqual(later(60));
    await store.outgoingCalls.delete(id);
    expect(await store.outgoingCalls.putOff({ id, attempts: 2 }, later(3))).toBe(false);
    expect(await store.outgoingCalls.nextDue()).toBeNull();
  });

  test("give way to a newer one of their subject, and no more wait than there may", async () => {
    await add({ subject: "commit a", body: "pending" });
    await add({ subject: "commit b", body: "pending" });
    const newest = await add({ subject: "commit a", body: "success" });
    expect(await store.outgoingCalls.count()).toBe(2);
    expect(await store.outgoingCalls.add(call(), 2)).toBeNull();
    expect(await store.outgoingCalls.add(call({ subject: "commit a", body: "again" }), 2)).toBeGreaterThan(
      newest,
    );
    const bodies = (await store.outgoingCalls.takeDue(later(60), later(120), 10)).map(({ body }) => body);
    expect(bodies).toEqual(["pending", "again"]);
    await clear();
  });

  test("go with their project", async () => {
    const { id } = await store.projects.create(sampleProject());
    await add({ projectId: id });
    await store.projects.delete(id);
    expect(await store.outgoingCalls.count()).toBe(0);
    expect(await failureOf(store.outgoingCalls.add(call({ projectId: id }), 10))).toBeInstanceOf(Error);
  });
});
