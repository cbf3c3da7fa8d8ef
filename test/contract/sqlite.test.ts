import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { systemClock } from "../../src/clock.ts";
import { sqliteDialect } from "../../src/store/query/dialect.ts";
import type { Engine } from "../../src/store/query/engine.ts";
import type { Scope } from "../../src/store/query/scope.ts";
import { openSqlite, type SqliteOptions } from "../../src/store/sqlite/sqlite.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";
import { notedQueries } from "../support/query-plans.ts";
import { sampleDelivery, sampleTask, sampleTime } from "../support/samples.ts";

describe("the connections to an SQLite file", () => {
  let folder: string;
  let engine: Engine;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "slipway-sqlite-"));
    engine = await open();
  });
  const open = (change: Partial<SqliteOptions> = {}) =>
    openSqlite({
      path: join(folder, "test.db"),
      log: pino({ level: "silent" }),
      clock: systemClock,
      ...change,
    });
  afterEach(async () => {
    await engine.close();
    await rm(folder, { recursive: true });
  });

  test("a write that would not be synced is refused: those of lists and those that pass as a read", async () => {
    const { lists, execute, db } = engine.scope;
    const row = { name: "unsynced", value: "yes" };
    const asRead =
      "with one(name) as (select 'unsynced') insert into meta (name, value) select name, '' from one";
    expect(String(await failureOf(lists.insertInto("meta").values(row).execute()))).toContain("readonly");
    expect(String(await failureOf(execute({ sql: asRead, parameters: [] })))).toContain("readonly");
    expect(await db.selectFrom("meta").selectAll().where("name", "=", row.name).execute()).toEqual([]);
  });

  test("whatever a transaction that was undone still tries does not reach the next one", async () => {
    await engine.close();
    engine = await open({ unitTimeoutMs: 200 });
    const { transact, db } = engine.scope;
    const set = (scope: Scope, name: string) =>
      scope.db.insertInto("meta").values({ name, value: "" }).execute();
    let goOn = () => {};
    const late = Promise.withResolvers<unknown>();
    const undone = transact((outer) => {
      const part = outer.transact(async (inner) => {
        await set(inner, "undone");
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
      });
      late.resolve(failureOf(part));
      return part;
    });
    expect(String(await failureOf(undone))).toContain("took longer than 200 ms");
    await transact((outer) =>
      outer.transact(async (inner) => {
        await set(inner, "kept");
        goOn();
        expect(String(await late.promise)).toContain("This transaction is over.");
      }),
    );
    expect(await db.selectFrom("meta").select("name").execute()).toEqual([{ name: "kept" }]);
  });

  test("what every delivery asks is planned once: no limit of it is a parameter", async () => {
    const { keepers, taken } = notedQueries(sqliteDialect);
    await keepers.deliveries.lastAccepted(1, { since: sampleTime, now: sampleTime });
    await keepers.deliveries.lastAccepted(1, { since: sampleTime, now: sampleTime }, "refs/heads/main");
    await keepers.tasks.ahead({ projectId: 1, id: 1, priority: 0, notBefore: null }, sampleTime);
    await keepers.tasks.countHeld(1);
    await keepers.tasks.nextLogIndex(1);
    await failureOf(keepers.deliveries.createWithTask(sampleDelivery(), sampleTask()));
    const queries = taken();
    expect(queries.length).toBeGreaterThanOrEqual(8);
    for (const { sql } of queries) expect(sql).not.toContain("limit ?");
  });

  test("checkpoints move what is written into the file while it is written", async () => {
    const file = join(folder, "test.db");
    const before = statSync(file).size;
    const write = (each: number) =>
      engine.scope.db.insertInto("meta").values({ name: `value ${each}`, value: "x".repeat(10_000) });
    let each = 0;
    await eventually("the file grows", async () => {
      await write(each++).execute();
      return statSync(file).size > before + 100_000;
    });
  });
});
