import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSqliteBackground } from "../../src/store/sqlite/sqlite-background.ts";
import { connect } from "../../src/store/sqlite/sqlite-connection.ts";
import { failureOf } from "../support/failure.ts";

/** Counts rows that it makes up: about a third of a second for a million on a slow machine. */
const counting = (rows: number) => ({
  sql: `with recursive s(i) as (select 1 union all select i + 1 from s where i < ${rows}) select count(*) as count from s`,
  parameters: [],
});
/** Longer than any test waits, and over soon after it. */
const slow = counting(30_000_000);

describe("the thread of lists", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "slipway-lists-"));
    file = join(folder, "test.db");
    connect(file, { readonly: false }).close();
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("gives up the list that takes too long, and no list that waits behind it", async () => {
    const lists = buildSqliteBackground(file, { timeoutMs: 1_000, maxWaitMs: 60_000 });
    const given = failureOf(lists.execute(slow));
    const behind = [3, 5, 7].map((rows) => lists.execute(counting(rows)));
    expect(await given).toMatchObject({ code: "unavailable", message: "A list took longer than 1 s." });
    expect((await Promise.all(behind)).map(({ rows }) => rows)).toEqual([
      [{ count: 3 }],
      [{ count: 5 }],
      [{ count: 7 }],
    ]);
    await lists.close();
  });

  test("refuses a list that waited too long, with the reason", async () => {
    const lists = buildSqliteBackground(file, { timeoutMs: 30_000, maxWaitMs: 50 });
    const first = lists.execute(counting(3_000_000));
    expect(await failureOf(lists.execute(counting(1)))).toMatchObject({
      message: "Too many lists wait for the database.",
      retryAfterSeconds: 1,
    });
    await first;
    await lists.close();
  });

  test("refuses what still waits when the database is closed", async () => {
    const lists = buildSqliteBackground(file);
    const refused = [counting(1_000_000), counting(1)].map((query) => failureOf(lists.execute(query)));
    await lists.close();
    for (const failure of await Promise.all(refused))
      expect(failure).toMatchObject({ code: "unavailable", message: "The database is closed." });
  });
});
