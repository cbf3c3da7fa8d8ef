import { describe, expect, test } from "bun:test";
import { openBulkConnection } from "../../src/store/maintenance/bulk-connection.ts";
import { lastMigration } from "../../src/store/migrations/migrate.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";

async function recordSchema({ url }: TestDatabase, from: string, to: string): Promise<void> {
  const connection = await openBulkConnection(url);
  await connection.beginWriting();
  const sql = `update kysely_migration set name = '${to}' where name = '${from}'`;
  await connection.execute({ sql, parameters: [] });
  await connection.commit();
  await connection.close();
}

describe.each(await availableDatabases())("a database on $name", ({ make }) => {
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
