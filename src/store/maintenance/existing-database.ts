import { Fault } from "../../errors.ts";
import { recordedSchema } from "../migrations/migrate.ts";
import type { Database } from "../query/dialect.ts";
import { databaseOver } from "../query/kysely-dialect.ts";
import { openBulkConnection } from "./bulk-connection.ts";
import { keyCheckName } from "./key-operations.ts";

/** The schema of a database that a server has used. Throws if it is empty: the caller was given the wrong database. */
export async function requireSchema(db: Database): Promise<string> {
  const schema = await recordedSchema(db);
  if (schema !== null) return schema;
  throw new Fault("not_found", "This database has no data of Slipway; are data.dir and database.url right?");
}

/** Throws if there is no database, or an empty one. */
export async function inspectDatabase(databaseUrl: string): Promise<{ hasKey: boolean }> {
  const connection = await openBulkConnection(databaseUrl);
  try {
    const db = databaseOver(connection.dialect, connection.execute);
    await requireSchema(db);
    const check = db.selectFrom("meta").select("name").where("name", "=", keyCheckName);
    return { hasKey: (await check.executeTakeFirst()) !== undefined };
  } finally {
    await connection.close();
  }
}
