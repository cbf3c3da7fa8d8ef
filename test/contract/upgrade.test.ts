import { describe, expect, test } from "bun:test";
import { openBulkConnection } from "../../src/store/maintenance/bulk-connection.ts";
import { releaseOrder } from "../../src/store/migrations/0008-release-order.ts";
import { lastMigration } from "../../src/store/migrations/migrate.ts";
import { databaseOver } from "../../src/store/query/kysely-dialect.ts";
import { buildCli } from "../support/cli.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleProject, sampleTask } from "../support/samples.ts";

async function execute({ url }: TestDatabase, ...statements: string[]): Promise<void> {
  const connection = await openBulkConnection(url);
  await connection.beginWriting();
  for (const sql of statements) await connection.execute({ sql, parameters: [] });
  await connection.commit();
  await connection.close();
}

/** The migration after the last one. Its number is lower than those of unreleased schemas. */
const next = `${String(Number.parseInt(lastMigration, 10) + 1).padStart(4, "0")}-of-a-later-version`;

function recordSchema(database: TestDatabase, from: string, to: string): Promise<void> {
  return execute(database, `update kysely_migration set name = '${to}' where name = '${from}'`);
}

describe.each(await availableDatabases())("a database on $name", ({ make }) => {
  test("that a later version has upgraded is refused with the way out, and stays as it is", async () => {
    const database = await make();
    try {
      await (await database.open()).close();
      await execute(
        database,
        `insert into kysely_migration (name, timestamp) values ('${next}', '2030-01-01T00:00:00.000Z')`,
      );
      const text = `A later version of Slipway has upgraded the database: it has the schema ${next}, and this version knows those up to ${lastMigration}. Start that version again, or restore the backup that was made before the upgrade into an empty database.`;
      expect(String(await failureOf(database.open()))).toContain(text);
      const server = await buildCli({ SLIPWAY_DATABASE_URL: database.url })(["deploy"]);
      expect([server.exitCode, server.stderr]).toEqual([1, `${text}\n`]);
      expect(String(await failureOf(database.open()))).toContain(text);
    } finally {
      await database.remove();
    }
  });

  test("of version 1.0 gives its releases the order of their deploys, and a rebuilt one the place of the original", async () => {
    const database = await make();
    try {
      const before = await database.open();
      const { id: projectId } = await before.projects.create(sampleProject());
      const taskIds: number[] = [];
      for (const [finishedAt, rollbackIndex, state] of [
        [30, null, "kept"],
        // A manual run goes first, although its number is higher.
        [20, null, "kept"],
        [40, 1, "gone"],
        [50, 2, "kept"],
        [60, null, "candidate"],
        [70, null, "kept"],
      ] as const) {
        const rollbackTo = rollbackIndex === null ? null : (taskIds[rollbackIndex] ?? null);
        const { id } = await before.tasks.create(sampleTask({ projectId, rollbackTo }));
        await before.tasks.change(id, {
          whileIn: ["queued"],
          set: { state: "success", finishedAt: new Date(finishedAt) },
        });
        await before.releases.put({
          ...{ taskId: id, projectId, attempt: 1, runnerId: 1, state, ref: "refs/heads/main", commit: "c" },
          ...{
            message: "",
            author: "",
            pipeline: sampleProject().pipeline,
            env: {},
            digest: null,
            bytes: null,
            endedAt: null,
            rolledBackAt: null,
            images: {},
            promotedFrom: null,
          },
          ...{ place: 0, replacedPlace: 0, deployedAt: new Date(1000 - finishedAt) },
        });
        taskIds.push(id);
      }
      await before.close();
      await execute(
        database,
        "drop index releases_place",
        "alter table releases drop column place",
        "alter table releases drop column replaced_place",
      );
      const connection = await openBulkConnection(database.url);
      await connection.beginWriting();
      await releaseOrder().up(databaseOver(connection.dialect, connection.execute));
      await connection.commit();
      await connection.close();
      const releases = await (await database.open()).releases.ofProject(projectId, 10);
      expect(
        releases.map(({ taskId, place, replacedPlace }) => [taskIds.indexOf(taskId), place, replacedPlace]),
      ).toEqual([
        [5, 3, 2],
        [0, 2, 1],
        [3, 1, 0],
        [2, 1, 0],
        [1, 1, 0],
      ]);
    } finally {
      await database.remove();
    }
  });

  test.each(["0022-short-authors", "0999-later"])(
    "with the schema %s is refused and stays as it is",
    async (schema) => {
      const database = await make();
      try {
        await (await database.open()).close();
        await recordSchema(database, lastMigration, schema);
        const failure = String(await failureOf(database.open()));
        expect(failure).toContain(`The database has the schema ${schema}, which this version cannot use`);
        expect(failure).toContain("Start the version that wrote the database");
        await recordSchema(database, schema, lastMigration);
        await (await database.open()).close();
      } finally {
        await database.remove();
      }
    },
  );
});
