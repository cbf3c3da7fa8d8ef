import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildGroupWriter, type GroupWriterOptions } from "../../src/store/group-writer.ts";
import { connect, type SqliteConnection } from "../../src/store/sqlite-connection.ts";

describe("the group writer", () => {
  let folder: string;
  let connection: SqliteConnection;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "slipway-writer-"));
    connection = connect(join(folder, "test.db"), { readonly: false });
    for (const sql of ["pragma journal_mode = wal", "create table words (word text unique)"])
      connection.run(sql);
  });
  afterEach(async () => {
    connection.close();
    await rm(folder, { recursive: true });
  });

  const writer = (change: Partial<GroupWriterOptions> = {}) =>
    buildGroupWriter({
      connection,
      sync: async () => {},
      onCommit: () => {},
      unitTimeoutMs: 5_000,
      onUnitTimeout: () => {},
      ...change,
    });
  const insert = (word: string) => async () =>
    connection.execute({ sql: "insert into words values (?)", parameters: [word] });
  const stored = () =>
    connection
      .execute<{ word: string }>({ sql: "select word from words order by word", parameters: [] })
      .rows.map((row) => row.word);
  const unit = { needsSavepoint: true };

  test("commits all units that wait with one sync", async () => {
    let syncs = 0;
    const group = writer({
      sync: async () => {
        syncs++;
      },
    });
    await Promise.all(Array.from({ length: 100 }, (_, each) => group.submit(insert(`word ${each}`), unit)));
    expect(stored()).toHaveLength(100);
    expect(syncs).toBeLessThan(10);
  });

  test("answers only after the sync, while the next group is already written", async () => {
    let finishSync = () => {};
    const group = writer({
      sync: () =>
        new Promise((resolve) => {
          finishSync = resolve;
        }),
    });
    let isAnswered = false;
    const first = group.submit(insert("first"), unit).then(() => {
      isAnswered = true;
    });
    while (stored().length < 1) await Bun.sleep(1);
    const second = group.submit(insert("second"), unit);
    while (stored().length < 2) await Bun.sleep(1);
    expect(isAnswered).toBe(false);
    finishSync();
    await first;
    finishSync();
    await Bun.sleep(0);
    finishSync();
    await second;
  });

  test("undoes a failing unit alone", async () => {
    const group = writer();
    const outcomes = await Promise.allSettled([
      group.submit(insert("a"), unit),
      group.submit(async () => {
        await insert("b")();
        await insert("a")();
      }, unit),
      group.submit(insert("c"), unit),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(stored()).toEqual(["a", "c"]);
  });

  test("refuses the whole group when SQLite itself undid it, and goes on with the next", async () => {
    const group = writer();
    const outcomes = await Promise.allSettled([
      group.submit(insert("before"), unit),
      group.submit(async () => {
        connection.run("rollback");
        throw new Error("database or disk is full");
      }, unit),
      group.submit(insert("after"), unit),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(stored()).toEqual(["after"]);
  });

  test("undoes a unit that takes too long and goes on", async () => {
    let timeouts = 0;
    const group = writer({
      unitTimeoutMs: 20,
      onUnitTimeout: () => {
        timeouts++;
      },
    });
    const stuck = group.submit(async () => {
      await insert("stuck")();
      await new Promise(() => {});
    }, unit);
    const next = group.submit(insert("next"), unit);
    await expect(stuck).rejects.toMatchObject({ code: "internal" });
    await next;
    expect(timeouts).toBe(1);
    expect(stored()).toEqual(["next"]);
  });

  test("refuses everything after a sync failed: what is on disk is unknown", async () => {
    const group = writer({ sync: () => Promise.reject(new Error("EIO")) });
    await expect(group.submit(insert("a"), unit)).rejects.toMatchObject({ code: "unavailable" });
    await expect(group.submit(insert("b"), unit)).rejects.toThrow("EIO");
    expect(() => group.check()).toThrow("EIO");
  });

  test("waits for another process that holds the write lock, without holding the loop", async () => {
    const other = connect(join(folder, "test.db"), { readonly: false });
    other.run("begin immediate");
    const group = writer();
    const waiting = group.submit(insert("patient"), unit);
    let turns = 0;
    for (; turns < 5; turns++) await Bun.sleep(5);
    expect(stored()).toEqual([]);
    other.run("commit");
    await waiting;
    expect(stored()).toEqual(["patient"]);
    other.close();
  });

  test("finishes what is in hand before it closes, and refuses what comes after", async () => {
    const group = writer();
    const inHand = group.submit(insert("in hand"), unit);
    const closed = group.close();
    await expect(group.submit(insert("late"), unit)).rejects.toMatchObject({ code: "unavailable" });
    await inHand;
    await closed;
    expect(stored()).toEqual(["in hand"]);
  });
});
