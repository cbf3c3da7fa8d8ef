import { describe, expect, test } from "bun:test";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";

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
    const writes = Promise.all(
      Array.from({ length: 20 }, (_, each) => store.meta.set(`in hand ${each}`, "yes")),
    );
    await Bun.sleep(0);
    const closing = store.close();
    await writes;
    await closing;
    expect(await failureOf(store.meta.set("late", "no"))).toBeInstanceOf(Error);
    const again = await database.open();
    expect(await again.meta.get("in hand 19")).toBe("yes");
    expect(await again.meta.get("late")).toBeNull();
    await database.remove();
  });
});

describe.each(databases.filter(({ name }) => name === "PostgreSQL"))(
  "locks over two instances on $name",
  ({ make }) => {
    test("let one holder through at a time, whichever instance it comes from, and both get their turn", async () => {
      const database = await make();
      const [one, two] = [await database.open(), await database.open()];
      let inside = 0;
      const order: string[] = [];
      const work = (name: string) => async () => {
        inside++;
        expect(inside).toBe(1);
        await Bun.sleep(2);
        order.push(name);
        inside--;
      };
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, each) =>
          each % 2 === 0
            ? one.withLock("shared", 30_000, work("one"))
            : two.withLock("shared", 30_000, work("two")),
        ),
      );
      expect(answers).not.toContain("timeout");
      expect(order.filter((name) => name === "one")).toHaveLength(20);
      await database.remove();
    });

    test("a steady stream of one instance does not keep the other out", async () => {
      const database = await make();
      const [busy, other] = [await database.open(), await database.open()];
      let isOver = false;
      const stream = Promise.all(
        [1, 2, 3].map(async () => {
          while (!isOver) await busy.withLock("busy", 30_000, () => Bun.sleep(1));
        }),
      );
      expect(await other.withLock("busy", 5_000, async () => "had it")).toBe("had it");
      isOver = true;
      await stream;
      await database.remove();
    });

    test("a wait that timed out answers timeout, and waiters occupy no connection", async () => {
      const database = await make();
      const [holder, waiter] = [await database.open(), await database.open()];
      const taken = Promise.withResolvers<void>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const held = holder.withLock("held", 30_000, () => {
        taken.resolve();
        return released;
      });
      await taken.promise;
      const waiting = Array.from({ length: 100 }, () => waiter.withLock("held", 300, async () => "ran"));
      expect(await waiter.users.count()).toBe(0);
      expect(new Set(await Promise.all(waiting))).toEqual(new Set(["timeout"]));
      release();
      await held;
      expect(await waiter.withLock("held", 30_000, async () => "ran")).toBe("ran");
      await database.remove();
    });

    test("different names do not block each other", async () => {
      const database = await make();
      const store = await database.open();
      const holders = await Promise.all(
        Array.from({ length: 50 }, (_, each) => store.withLock(`name ${each}`, 5_000, () => Bun.sleep(20))),
      );
      expect(holders).toHaveLength(50);
      await database.remove();
    });
  },
);
