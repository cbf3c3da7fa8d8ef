import { describe, expect, test } from "bun:test";
import pg from "pg";
import { operations } from "../../src/app/store-operations.ts";
import { operation } from "../../src/model/store.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { makeGate } from "../support/gate.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";
import { appendSlowly, echo, setValues } from "../support/store-operations.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("operations on $name", async ({ name, make }) => {
  const { store, database } = await setUpStore(make);

  test("do all of their work or none of it", async () => {
    expect(await store.run(setValues, { names: ["a", "b"], value: "set" })).toBe(2);
    expect([await store.meta.get("a"), await store.meta.get("b")]).toEqual(["set", "set"]);
    const failing = store.run(setValues, { names: ["c", "d"], value: "set", failure: "no" });
    expect(String(await failureOf(failing))).toContain("no");
    expect([await store.meta.get("c"), await store.meta.get("d")]).toEqual([null, null]);
  });

  test("of many at once only the failing ones are undone", async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, each) =>
        store.run(setValues, {
          names: [`together-${each}`, `and-${each}`],
          value: "set",
          ...(each % 10 === 3 ? { failure: `operation ${each}` } : {}),
        }),
      ),
    );
    for (const [each, outcome] of outcomes.entries()) {
      const isFailing = each % 10 === 3;
      expect(outcome.status).toBe(isFailing ? "rejected" : "fulfilled");
      expect(await store.meta.get(`and-${each}`)).toBe(isFailing ? null : "set");
    }
  });

  test("of many at once with locks of their own only the failing ones are undone, and each runs once", async () => {
    const sent = Array.from({ length: 100 }, (_, each) => ({
      names: [`shared-${each}`, `also-${each}`],
      value: `set by ${each}`,
      ...(each % 10 === 3 ? { failure: `operation ${each}` } : {}),
    }));
    const outcomes = await Promise.allSettled(
      sent.map((input, each) => store.run(setValues, input, { name: `shared ${each}`, waitMs: 20_000 })),
    );
    for (const [each, outcome] of outcomes.entries()) {
      const isFailing = each % 10 === 3;
      expect(outcome).toMatchObject(
        isFailing
          ? { status: "rejected", reason: { message: `operation ${each}` } }
          : { status: "fulfilled", value: 2 },
      );
      const stored = [await store.meta.get(`shared-${each}`), await store.meta.get(`also-${each}`)];
      const expected = isFailing ? null : `set by ${each}`;
      expect(stored).toEqual([expected, expected]);
    }
  });

  if (name === "PostgreSQL")
    test("that wait for a row of another transaction do not keep those beside them waiting", async () => {
      await store.meta.set("taken", "before");
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      await client.query("begin");
      await client.query("select * from meta where name = 'taken' for update");
      const blocked = store.run(
        setValues,
        { names: ["taken"], value: "after" },
        { name: "lock of taken", waitMs: 20_000 },
      );
      const beside = Array.from({ length: 20 }, (_, each) =>
        store.run(
          setValues,
          { names: [`beside-${each}`], value: "set" },
          { name: `lock ${each}`, waitMs: 20_000 },
        ),
      );
      expect(new Set(await Promise.all(beside))).toEqual(new Set([1]));
      expect(await store.meta.get("taken")).toBe("before");
      await client.query("commit");
      expect(await blocked).toBe(1);
      expect(await store.meta.get("taken")).toBe("after");
      await client.end();
    });

  test("take and answer plain data of every kind, whole", async () => {
    const input = {
      text: `"quoted" \\ Ω 𝒳\n`.repeat(2_000),
      marks: ["\0", "\0L", "\0U", "\0D5", "$date"],
      at: new Date(1_234),
      nothing: null,
      list: [1, -0.5, true, [], {}],
      deep: { __proto: { x: "y".repeat(100) }, "": "empty name" },
    };
    const { input: answer, now } = await store.run(echo, input);
    expect(answer).toEqual(input);
    expect(Math.abs(now.getTime() - store.now().getTime())).toBeLessThan(5_000);
  });

  test("keep the fault that they throw", async () => {
    const failure = await failureOf(store.projects.setSecret(987_654, "A", "x"));
    expect(failure).toMatchObject({ name: "Fault", code: "not_found" });
  });

  test("of one lock run one at a time, in order of arrival", async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, each) =>
        store.run(
          appendSlowly,
          { name: "fifo", text: String.fromCharCode(65 + each), ms: 1 },
          { name: "fifo", waitMs: 5_000 },
        ),
      ),
    );
    expect(await store.meta.get("fifo")).toBe("ABCDEFGHIJKLMNOPQRST");
  });

  test("whose lock is not free in time answer timeout and never run", async () => {
    const gate = makeGate();
    const held = store.run(
      appendSlowly,
      { name: "slow", text: "x", ms: 20_000, gate: gate.folder },
      { name: "slow", waitMs: 5_000 },
    );
    await gate.reached();
    const late = { names: ["late"], value: "ran" };
    expect(await store.run(setValues, late, { name: "slow", waitMs: 200 })).toBe("timeout");
    gate.open();
    await held;
    // That it is not executed afterwards has no event.
    await Bun.sleep(100);
    expect(await store.meta.get("late")).toBeNull();
    expect(await store.run(setValues, late, { name: "slow", waitMs: 5_000 })).toBe(1);
  });

  test("a lock is free again after an operation that failed", async () => {
    const lock = { name: "failing", waitMs: 1_000 };
    const failing = store.run(setValues, { names: ["x"], value: "y", failure: "inside" }, lock);
    expect(String(await failureOf(failing))).toContain("inside");
    expect(await store.run(setValues, { names: ["x"], value: "y" }, lock)).toBe(1);
  });

  test("what they write is seen by others only once they have ended, and lists do not wait for them", async () => {
    let isOver = false;
    const gate = makeGate();
    const input = { name: "hidden", text: "yes", ms: 20_000, gate: gate.folder };
    const slow = store.run(appendSlowly, input).then(() => {
      isOver = true;
    });
    await gate.reached();
    // On SQLite a short read is done between operations.
    const read = store.meta.get("hidden");
    if (name === "PostgreSQL") expect(await read).toBeNull();
    expect((await store.deliveries.list({}, { page: 1, pageSize: 20 })).total).toBe(0);
    expect(isOver).toBe(false);
    gate.open();
    await slow;
    expect(await store.meta.get("hidden")).toBe("yes");
  });

  test("64 deliveries to a project whose lock is held do not slow those of another project", async () => {
    const server = await startHookServer(store);
    const push = { payload: { event: "push", ref: "refs/heads/main" } };
    const [held, other] = [
      await server.project({ debounceSeconds: 0 }),
      await server.project({ debounceSeconds: 0 }),
    ];
    const typicalMs = async () => {
      const times: number[] = [];
      for (let each = 0; each < 20; each++) {
        const startedAt = performance.now();
        expect((await deliverTo(other.url, push)).status).toBe(202);
        times.push(performance.now() - startedAt);
      }
      return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
    };
    const beforeMs = await typicalMs();
    // SQLite has one order for all: there the others of the project are all that can stand in the way.
    const lock = { name: `webhook ${held.id}`, waitMs: 1_000 };
    const holder =
      name === "SQLite"
        ? Promise.resolve()
        : (await database.open()).run(appendSlowly, { name: "holder", text: "x", ms: 3_000 }, lock);
    // The holder has the lock by then; after as long again the others wait for it.
    await Bun.sleep(200);
    const waiting = Array.from({ length: 64 }, () => deliverTo(held.url, push));
    await Bun.sleep(200);
    const besideMs = await typicalMs();
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    // What had to wait for the holder is accepted after it, or was refused in time; the rate limit is 60 a minute.
    for (const status of statuses) expect([202, 429]).toContain(status);
    await holder;
    // Measured on both sides, because the machine may have become busy meanwhile.
    expect(besideMs).toBeLessThan(Math.max(5 * beforeMs, 5 * (await typicalMs()), 200));
    await server.stop();
  });

  test("that wait for the lock of a busy project let an operation of another project through", async () => {
    const busyLock = { name: "busy project", waitMs: 30_000 };
    let done = 0;
    let isOver = false;
    const lanes = Array.from({ length: 64 }, async () => {
      while (!isOver) {
        await store.run(setValues, { names: ["busy"], value: "set" }, busyLock);
        done++;
      }
    });
    for (let each = 0; each < 5; each++) {
      const before = done;
      const other = { names: [`other-${each}`], value: "set" };
      expect(await store.run(setValues, other, { name: "other project", waitMs: 30_000 })).toBe(1);
      // Those that were sent before it are at most the 64 of the lanes; each may be followed by one more.
      expect(done - before).toBeLessThanOrEqual(2 * lanes.length);
    }
    isOver = true;
    await Promise.all(lanes);
  });

  if (name === "SQLite")
    test("that are not registered are refused by name", async () => {
      const unknown = operation("unknownOperation", async () => 1);
      expect(String(await failureOf(store.run(unknown, null)))).toContain(
        "unknownOperation is not registered",
      );
    });

  test("the database tells its own time and what it is, without credentials", async () => {
    expect(Math.abs(store.now().getTime() - Date.now())).toBeLessThan(60_000);
    expect(await store.check()).toBeNull();
    expect(store.describe()).toStartWith(name);
    expect(store.describe()).not.toContain("slipway:slipway");
  });
});

test("no two operations have the same name", () => {
  const names = operations.map((each) => each.name);
  expect(new Set(names).size).toBe(names.length);
});
