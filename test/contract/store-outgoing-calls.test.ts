import { describe, expect, test } from "bun:test";
import type { OutgoingCall } from "../../src/model/outgoing-call.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleProject, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const later = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);

describe.each(await availableDatabases())("outgoing calls on $name", async ({ make }) => {
  const { database, store } = await setUpStore(make);
  const projectId = (await store.projects.create(sampleProject())).id;

  const call = (more: Partial<OutgoingCall> = {}): Omit<OutgoingCall, "id"> => ({
    projectId,
    kind: "notification",
    event: "task.failed",
    targetId: null,
    subject: null,
    url: "https://hooks.example/",
    messageId: "msg_1",
    proof: "signature",
    body: "{}",
    traceparent: null,
    attempts: 1,
    nextTryAt: later(5),
    createdAt: sampleTime,
    ...more,
  });
  const limits = { total: 1000, perTarget: 1000 };
  const add = async (more: Partial<OutgoingCall> = {}) =>
    (await store.outgoingCalls.add(call(more), limits)).id ?? 0;
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

  test("are postponed by the instance that holds them, not by an instance whose hold has expired", async () => {
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

  test("are replaced by a newer one of their subject, and the number of waiting calls is limited", async () => {
    await add({ subject: "commit a", body: "pending" });
    await add({ subject: "commit b", body: "pending" });
    const newest = await add({ subject: "commit a", body: "success" });
    expect(await store.outgoingCalls.count()).toBe(2);
    const two = { total: 2, perTarget: 2 };
    expect(await store.outgoingCalls.add(call(), two)).toMatchObject({ id: null, replaced: [] });
    const again = await store.outgoingCalls.add(call({ subject: "commit a", body: "again" }), two);
    expect(again).toMatchObject({ replaced: [{ id: newest, attempts: 1 }], dropped: null });
    expect(again.id).toBeGreaterThan(newest);
    const bodies = (await store.outgoingCalls.takeDue(later(60), later(120), 10)).map(({ body }) => body);
    expect(bodies).toEqual(["pending", "again"]);
    await clear();
  });

  test("of one project leave room for those of the others", async () => {
    const other = (await store.projects.create(sampleProject())).id;
    const full = { total: 10, perTarget: 6 };
    const dead = (target: number) => call({ url: `https://dead-${target}.example/` });
    const added = [];
    for (let each = 0; each < 10; each++)
      added.push((await store.outgoingCalls.add(dead(each < 6 ? 1 : each), full)).id);
    expect(added).not.toContain(null);
    // One address gets at most its share, and the project with the most waiting calls loses its own oldest.
    expect(await store.outgoingCalls.add(dead(1), full)).toMatchObject({ id: null, dropped: null });
    expect(await store.outgoingCalls.add(dead(99), full)).toMatchObject({ id: null, dropped: null });
    for (let each = 0; each < 5; each++) {
      const { id, dropped } = await store.outgoingCalls.add(call({ projectId: other }), full);
      expect(id).not.toBeNull();
      expect(dropped?.projectId).toBe(call().projectId);
      if (each === 0) expect(dropped?.url).toBe(dead(1).url);
    }
    expect(await store.outgoingCalls.add(call({ projectId: other }), full)).toMatchObject({ id: null });
    expect(await store.outgoingCalls.count()).toBe(10);
    const share = { perProject: 2, except: [] };
    const taken = await store.outgoingCalls.takeDue(later(60), later(120), 10, share);
    expect(taken.map(({ projectId }) => projectId).filter((id) => id === other)).toHaveLength(2);
    expect(taken).toHaveLength(4);
    const rest = await store.outgoingCalls.takeDue(later(60), later(120), 10, {
      perProject: 9,
      except: [other],
    });
    expect(rest.map(({ projectId }) => projectId)).not.toContain(other);
    await store.projects.delete(other);
    await clear();
  });

  test("go with their project", async () => {
    const { id } = await store.projects.create(sampleProject());
    await add({ projectId: id });
    await store.projects.delete(id);
    expect(await store.outgoingCalls.count()).toBe(0);
    expect(await failureOf(store.outgoingCalls.add(call({ projectId: id }), limits))).toBeInstanceOf(Error);
  });
});
