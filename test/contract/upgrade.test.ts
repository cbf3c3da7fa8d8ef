import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { openBulkConnection } from "../../src/store/maintenance/bulk-connection.ts";
import { migrate } from "../../src/store/migrations/migrate.ts";
import { databaseOver } from "../../src/store/query/kysely-dialect.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { sampleTime } from "../support/samples.ts";

interface StoredTask {
  id: number;
  state: string;
  author: string;
  finishedAt: number | null;
}

/** A database as an earlier version left it. */
async function makeEarlier(
  { url }: TestDatabase,
  schema: string,
  tasks: readonly StoredTask[],
): Promise<void> {
  if (url.startsWith("sqlite:")) await Bun.write(url.slice("sqlite:".length), "");
  const connection = await openBulkConnection(url);
  const db = databaseOver(connection.dialect, connection.execute);
  const at = sampleTime.getTime();
  try {
    await connection.beginWriting();
    await migrate(db, connection.dialect, schema);
    await sql`insert into projects (id, name, git, stages, env, notify, labels, supersede, sample, created_at)
      values (1, 'shop', '{}', '{}', '{}', '[]', '[]', 'never', 0, ${at})`.execute(db);
    for (const { id, state, author, finishedAt } of tasks)
      await sql`insert into tasks (id, project_id, state, trigger_type, triggered_by, ref, message, author, stages, reason,
          priority, attempt, created_at, finished_at)
        values (${id}, 1, ${state}, 'webhook', 'ann', 'main', '', ${author}, '[]', '', 0, 1, ${at}, ${finishedAt})`.execute(
        db,
      );
    await connection.commit();
  } finally {
    await connection.close();
  }
}

describe.each(await availableDatabases())("an upgrade on $name", ({ make }) => {
  // Random, because PostgreSQL compresses what it puts into an index.
  const author = randomBytes(15_000).toString("base64");
  const short = author.slice(0, 255);
  const running = { id: 1, state: "running", author, finishedAt: null };
  const finished = { id: 2, state: "success", author, finishedAt: sampleTime.getTime() };

  test.each([
    { schema: "0007-queue-index", tasks: [running, finished] },
    // Its index of authors holds finished tasks only.
    { schema: "0021-gateway-minutes", tasks: [running] },
  ])("from $schema shortens the long author of a task, which can then end", async ({ schema, tasks }) => {
    const database = await make();
    try {
      await makeEarlier(database, schema, tasks);
      const store = await database.open();
      for (const { id, state } of tasks)
        expect(await store.tasks.byId(id)).toMatchObject({ state, author: short });
      const set = { state: "failed", finishedAt: sampleTime } as const;
      expect(await store.tasks.change(running.id, { whileIn: ["running"], set })).toMatchObject(set);
      const { items } = await store.tasks.list({ author: short }, { page: 1, pageSize: 10 });
      expect(items).toHaveLength(tasks.length);
    } finally {
      await database.remove();
    }
  });
});
