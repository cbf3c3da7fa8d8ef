import { describe, expect, test } from "bun:test";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { makeGate } from "../support/gate.ts";
import { appendSlowly, echo, setValues } from "../support/store-operations.ts";

const databases = await availableDatabases();

describe.each(databases)("instances on $name", ({ make }) => {
  test("that start together on an empty database all become ready", async () => {
    const database = await make();
    const stores = await Promise.all([1, 2, 3, 4].map(() => database.open()));
    await stores[0]?.meta.set("who", "first");
    for (const store of stores) expect(await store.meta.get("who")).toBe("first");
    await database.remove();
  });

  test("that start later find the current schema and all stored data", async () => {
    const database = await make();
    const first = await database.open();
    await first.meta.set("kept", "yes");
    expect(await (await database.open()).meta.get("kept")).toBe("yes");
    await first.close();
    expect(await (await database.open()).meta.get("kept")).toBe("yes");
    await database.remove();
  });

  test("refuse work once closed, and finish what was running", async () => {
    const database = await make();
    const store = await database.open();
    const writes = Promise.all([
      ...Array.from({ length: 20 }, (_, each) => store.meta.set(`in hand ${each}`, "yes")),
      ...Array.from({ length: 100 }, (_, each) =>
        store.run(setValues, { names: [`shared ${each}`], value: "yes" }, { name: `${each}`, waitMs: 5_000 }),
      ),
    ]);
    // Some of them are on their way to the database.
    await new Promise(setImmediate);
    const closing = store.close();
    await writes;
    await closing;
    expect(await failureOf(store.meta.set("late", "no"))).toBeInstanceOf(Error);
    const again = await database.open();
    expect(await again.meta.get("in hand 19")).toBe("yes");
    expect(await again.meta.get("shared 99")).toBe("yes");
    expect(await again.meta.get("late")).toBeNull();
    await database.remove();
  });
});

describe.each(databases.filter(({ name }) => name === "PostgreSQL"))(
  "locks over two instances on $name",
  ({ make }) => {
    const slow = (text: string, ms: number) => ({ name: "order", text, ms });

    test("let one holder through at a time, whichever instance it comes from, and both get their turn", async () => {
      const database = await make();
      const [one, two] = [await database.open(), await database.open()];
      const lock = { name: "shared", waitMs: 30_000 };
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, each) =>
          (each % 2 === 0 ? one : two).run(appendSlowly, slow(each % 2 === 0 ? "1" : "2", 2), lock),
        ),
      );
      expect(answers).not.toContain("timeout");
      // Two at a time would have read the same value, and one of them would be lost.
      const order = (await one.meta.get("order")) ?? "";
      expect([order.length, order.replaceAll("2", "").length]).toEqual([40, 20]);
      await database.remove();
    });

    test("a steady stream of one instance does not keep the other out", async () => {
      const database = await make();
      const [busy, other] = [await database.open(), await database.open()];
      let isOver = false;
      const stream = Promise.all(
        [1, 2, 3].map(async () => {
          while (!isOver) await busy.run(appendSlowly, slow("x", 1), { name: "busy", waitMs: 30_000 });
        }),
      );
      expect(await other.run(echo, "had it", { name: "busy", waitMs: 5_000 })).toMatchObject({
        input: "had it",
      });
      isOver = true;
      await stream;
      await database.remove();
    });

    test("a wait that is over answers timeout, and waiters pin one connection at most", async () => {
      const database = await make();
      const [holder, waiter] = [await database.open(), await database.open()];
      let isHeld = true;
      const gate = makeGate();
      const input = { ...slow("x", 20_000), gate: gate.folder };
      const held = holder.run(appendSlowly, input, { name: "held", waitMs: 5_000 }).finally(() => {
        isHeld = false;
      });
      await gate.reached();
      const waiting = Array.from({ length: 100 }, () =>
        waiter.run(echo, "ran", { name: "held", waitMs: 300 }),
      );
      // All of them wait by then.
      await Bun.sleep(100);
      await Promise.all(Array.from({ length: 8 }, () => waiter.users.count()));
      expect(isHeld).toBe(true);
      expect(new Set(await Promise.all(waiting))).toEqual(new Set(["timeout"]));
      gate.open();
      await held;
      expect(await waiter.run(echo, "ran", { name: "held", waitMs: 5_000 })).toMatchObject({ input: "ran" });
      await database.remove();
    });

    test("different names do not block each other", async () => {
      const database = await make();
      const store = await database.open();
      const holders = await Promise.all(
        Array.from({ length: 50 }, (_, each) =>
          store.run(
            appendSlowly,
            { name: `${each}`, text: "x", ms: 20 },
            { name: `name ${each}`, waitMs: 5_000 },
          ),
        ),
      );
      expect(new Set(holders)).toEqual(new Set([""]));
      await database.remove();
    });
  },
);
