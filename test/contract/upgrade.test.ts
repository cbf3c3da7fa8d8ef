import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { openBulkConnection } from "../../src/store/maintenance/bulk-connection.ts";
import { migrate } from "../../src/store/migrations/migrate.ts";
import type { Database } from "../../src/store/query/dialect.ts";
import { databaseOver } from "../../src/store/query/kysely-dialect.ts";

import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { sampleTime } from "../support/samples.ts";

interface StoredTask {
  id: number;
  state: string;
  author: string;
  finishedAt: number | null;
}

const at = sampleTime.getTime();

async function addProject(db: Database, id: number): Promise<void> {
  await sql`insert into projects (id, name, git, stages, env, notify, labels, supersede, sample, created_at)
    values (${id}, ${`shop ${id}`}, '{}', '{}', '{}', '[]', '[]', 'never', 0, ${at})`.execute(db);
}

async function addTask(db: Database, { id, state, author, finishedAt }: StoredTask): Promise<void> {
  await sql`insert into tasks (id, project_id, state, trigger_type, triggered_by, ref, message, author, stages, reason,
      priority, attempt, created_at, finished_at)
    values (${id}, 1, ${state}, 'webhook', 'ann', 'main', '', ${author}, '[]', '', 0, 1, ${at}, ${finishedAt})`.execute(
    db,
  );
}

/** A database as an earlier version left it, with a project. */
async function makeEarlier(
  { url }: TestDatabase,
  schema: string,
  fill: (db: Database) => Promise<void>,
): Promise<void> {
  if (url.startsWith("sqlite:")) await Bun.write(url.slice("sqlite:".length), "");
  const connection = await openBulkConnection(url);
  const db = databaseOver(connection.dialect, connection.execute);
  try {
    await connection.beginWriting();
    await migrate(db, connection.dialect, schema);
    await addProject(db, 1);
    await fill(db);
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
      await makeEarlier(database, schema, async (db) => {
        for (const task of tasks) await addTask(db, task);
      });
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

  test("from 0022-short-authors keeps secrets and rules, marks ended releases, and forgets tips that no poll has read", async () => {
    const database = await make();
    try {
      await makeEarlier(database, "0022-short-authors", async (db) => {
        await sql`insert into project_secrets (project_id, name, ciphertext) values (1, 'TOKEN', 'sealed')`.execute(
          db,
        );
        await sql`insert into webhook_configs (project_id, enabled, provider, secret_header, secret_query, verify_mode,
            signature_prefix, signature_encoding, events, branch_filter, tag_filter, path_filter, ref_source,
            queue_policy, skip_ci_keyword, debounce_scope, allow_forks, updated_at)
          values (1, 1, 'gitea', '', '', 'token', '', 'hex', '["push"]', '[]', '[]', '[]', 'branch', 'queue',
            '[skip deploy]', 'ref', 0, ${at})`.execute(db);
        // 1 ended and was returned to later, 2 ended, 3 lives, 4 ended and is live, 5 returned to 1.
        for (const id of [1, 2, 3, 4, 5])
          await addTask(db, { id, state: "success", author: "ann", finishedAt: at });
        for (const id of [1, 2, 3, 4]) {
          await sql`insert into releases (task_id, project_id, attempt, runner_id, state, ref, "commit", message, author,
              stages, env, deployed_at)
            values (${id}, 1, 1, 1, 'kept', 'main', 'c1', '', 'ann', '{}', '{}', ${at + id})`.execute(db);
          await sql`insert into service_outputs (task_id, has_exited, output) values (${id}, ${id === 3 ? 0 : 1}, '')`.execute(
            db,
          );
        }
        await sql`update tasks set rollback_to = 1 where id = 5`.execute(db);
        await sql`update projects set live_task_id = 4 where id = 1`.execute(db);
        // 1 is polled, the first poll of 2 has read nothing, 3 was never polled.
        for (const id of [2, 3]) await addProject(db, id);
        for (const [id, url] of [
          [1, "https://git.example.com/shop.git"],
          [2, ""],
        ] as const)
          await sql`insert into polls (project_id, url, version, scope, next_at, error, note)
            values (${id}, ${url}, '', '', ${at}, '', '')`.execute(db);
        for (const id of [1, 2, 3])
          await sql`insert into ref_tips (project_id, ref, "commit", pushed_at)
            values (${id}, 'refs/heads/main', 'c1', ${at})`.execute(db);
      });
      const store = await database.open();
      expect(await store.projects.secrets(1)).toEqual([{ name: "TOKEN", ciphertext: "sealed", scope: null }]);
      expect(await store.webhookConfigs.ofProject(1)).toMatchObject({
        skipCiKeyword: "[skip deploy]",
        moreSkipKeywords: [],
      });
      const releases = await store.releases.ofProject(1, 10);
      expect(releases.map(({ taskId, endedAt }) => [taskId, endedAt?.getTime() ?? null])).toEqual([
        [4, null],
        [3, null],
        [2, at + 2],
        [1, null],
      ]);
      const tips = await Promise.all([1, 2, 3].map((id) => store.refTips.ofProject(id)));
      expect(tips.map((each) => each.length)).toEqual([1, 0, 0]);
    } finally {
      await database.remove();
    }
  });
});
