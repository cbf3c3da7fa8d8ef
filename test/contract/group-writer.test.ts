import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { idOf } from "../../src/store/query/made-unit.ts";
import { buildGroupWriter, type GroupWriterOptions } from "../../src/store/sqlite/group-writer.ts";
import { connect, type SqliteConnection } from "../../src/store/sqlite/sqlite-connection.ts";
import {
  buildSqliteThread,
  failedSync,
  type SqliteThread,
  type UnitOutcome,
} from "../../src/store/sqlite/sqlite-thread.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";

describe("the group writer", () => {
  let folder: string;
  let connection: SqliteConnection;
  let thread: SqliteThread;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "slipway-writer-"));
    const file = join(folder, "test.db");
    connection = connect(file, { readonly: false });
    for (const sql of [
      "pragma journal_mode = wal",
      "create table words (id integer primary key, word text unique, after integer)",
    ])
      connection.run(sql);
    thread = buildSqliteThread({ file, pragmas: ["pragma busy_timeout = 5000"] });
  });
  afterEach(async () => {
    await thread.stop("The test is over.");
    connection.close();
    await rm(folder, { recursive: true });
  });

  const writer = (change: Partial<GroupWriterOptions> = {}) =>
    buildGroupWriter({
      connection,
      write: (units) => thread.write(units),
      sync: async () => {},
      onCommit: () => {},
      unitTimeoutMs: 5_000,
      onUnitTimeout: () => {},
      ...change,
    });
  const insert = (word: string) => async () =>
    connection.execute({ sql: "insert into words (word) values (?)", parameters: [word] });
  const made = (word: string) => [{ sql: "insert into words (word) values (?)", parameters: [word] }];
  const stored = () =>
    connection
      .execute<{ word: string }>({ sql: "select word from words order by word", parameters: [] })
      .rows.map((row) => row.word);

  test("commits all units that wait with one sync", async () => {
    let syncs = 0;
    const group = writer({
      sync: async () => {
        syncs++;
      },
    });
    await Promise.all(Array.from({ length: 100 }, (_, each) => group.run(insert(`word ${each}`))));
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
    const first = group.run(insert("first")).then(() => {
      isAnswered = true;
    });
    while (stored().length < 1) await Bun.sleep(1);
    const second = group.run(insert("second"));
    while (stored().length < 2) await Bun.sleep(1);
    expect(isAnswered).toBe(false);
    finishSync();
    await first;
    finishSync();
    await Bun.sleep(0);
    finishSync();
    await second;
  });

  test("writes made units on its thread, in order with the work between them", async () => {
    const group = writer();
    const seen: string[][] = [];
    const look = async () => void seen.push(stored());
    await Promise.all([
      group.write(made("a")),
      group.write(made("b")),
      group.run(look),
      group.write(made("c")),
      group.run(insert("d")),
      group.run(look),
    ]);
    expect(seen).toEqual([
      ["a", "b"],
      ["a", "b", "c", "d"],
    ]);
  });

  test("a made unit uses the ids of its own new rows, and long values come through whole", async () => {
    const long = `"quoted" \\ and\u0000nul, Ω, 𝒳\n`.repeat(2_000);
    const insertWord = "insert into words (word, after) values (?, ?) returning id";
    const [first, second] = await writer().write([
      { sql: insertWord, parameters: [long, null] },
      { sql: insertWord, parameters: ["after", idOf(0)] },
    ]);
    const rows = connection.execute<{ id: number; word: string; after: number | null }>({
      sql: "select * from words order by id",
      parameters: [],
    }).rows;
    expect(rows.map(({ id, after }) => [id, after])).toEqual([
      [1, null],
      [2, 1],
    ]);
    expect(rows[0]?.word).toBe(long.replaceAll("\u0000", "\ufffd"));
    expect([first?.rows, second?.rows]).toEqual([[{ id: 1 }], [{ id: 2 }]]);
  });

  test("undoes a failing made unit alone, and tells SQLite's reason", async () => {
    const group = writer();
    const outcomes = await Promise.allSettled([
      group.write(made("a")),
      group.write([...made("b"), ...made("a")]),
      group.write(made("a")),
      group.write(made("c")),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "SQLITE_CONSTRAINT_UNIQUE" } });
    expect(stored()).toEqual(["a", "c"]);
  });

  test("goes on with another thread when the writing one ended", async () => {
    const group = writer();
    await group.write(made("before"));
    await thread.stop("The thread ended.");
    await group.write(made("after"));
    expect(stored()).toEqual(["after", "before"]);
  });

  test("undoes a failing unit alone", async () => {
    const group = writer();
    const outcomes = await Promise.allSettled([
      group.run(insert("a")),
      group.run(async () => {
        await insert("b")();
        await insert("a")();
      }),
      group.run(insert("c")),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(stored()).toEqual(["a", "c"]);
  });

  test("refuses the whole group when SQLite itself undid it, and goes on with the next", async () => {
    const group = writer();
    const outcomes = await Promise.allSettled([
      group.run(insert("before")),
      group.run(async () => {
        connection.run("rollback");
        throw new Error("database or disk is full");
      }),
      group.run(insert("after")),
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
    const stuck = group.run(async () => {
      await insert("stuck")();
      await new Promise(() => {});
    });
    const next = group.run(insert("next"));
    expect(await failureOf(stuck)).toMatchObject({ code: "internal" });
    await next;
    expect(timeouts).toBe(1);
    expect(stored()).toEqual(["next"]);
  });

  test("refuses everything after a sync failed: what is on disk is unknown", async () => {
    const group = writer({ sync: () => Promise.reject(new Error("EIO")) });
    expect(await failureOf(group.run(insert("a")))).toMatchObject({ code: "unavailable" });
    expect(String(await failureOf(group.run(insert("b"))))).toContain("EIO");
    expect(() => group.check()).toThrow("EIO");
  });

  test("acknowledges nothing after a sync failed: not what is with the thread, nor what waits", async () => {
    const sent: { answer(outcomes: UnitOutcome[]): void; fail(error: Error): void }[] = [];
    const group = writer({
      write: () => new Promise((answer, fail) => void sent.push({ answer, fail })),
    });
    const outcomes: Promise<unknown>[] = [];
    for (let each = 1; each <= 4; each++) {
      outcomes.push(failureOf(group.write(made(`with the thread ${each}`))));
      await eventually("the group is with the thread", () => sent.length === each);
    }
    outcomes.push(failureOf(group.write(made("waits"))), failureOf(group.run(insert("waits"))));
    sent[0]?.fail(Object.assign(new Error("EIO"), { code: failedSync }));
    for (const { answer } of sent.slice(1)) answer([{ answers: [] }]);
    for (const failure of await Promise.all(outcomes)) expect(String(failure)).toContain("EIO");
    expect(sent).toHaveLength(4);
    expect(stored()).toEqual([]);
    await group.close();
  });

  test("the thread answers in the order of the requests, also a query while a sync runs", async () => {
    const ends: string[] = [];
    const first = thread.write([made("first")]).then(() => void ends.push("first"));
    const query = thread.execute({ sql: "select word from words", parameters: [] }).then(({ rows }) => {
      ends.push("query");
      expect(rows).toEqual([{ word: "first" }]);
    });
    const second = thread.write([made("second")]).then(() => void ends.push("second"));
    await Promise.all([first, query, second]);
    expect(ends).toEqual(["first", "query", "second"]);
  });

  test("the thread writes nothing after its sync failed", async () => {
    const wal = join(folder, "test.db-wal");
    await thread.execute({ sql: "select * from words", parameters: [] });
    await rename(wal, `${wal}.away`);
    const writes = ["unsynced", "right after it"].map((word) => failureOf(thread.write([made(word)])));
    for (const failure of await Promise.all(writes)) expect(failure).toMatchObject({ code: failedSync });
    await rename(`${wal}.away`, wal);
    expect(await failureOf(thread.write([made("after it")]))).toMatchObject({ code: failedSync });
    expect(stored()).toEqual(["unsynced"]);
  });

  test("waits for another process that holds the write lock, without holding the loop", async () => {
    const other = connect(join(folder, "test.db"), { readonly: false });
    other.run("begin immediate");
    const group = writer();
    const waiting = group.run(insert("patient"));
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
    const inHand = group.run(insert("in hand"));
    const closed = group.close();
    expect(await failureOf(group.run(insert("late")))).toMatchObject({ code: "unavailable" });
    await inHand;
    await closed;
    expect(stored()).toEqual(["in hand"]);
  });
});
