import { type SqlBool, sql } from "kysely";
import { Fault } from "../../errors.ts";
import { type Task, unfinishedStates } from "../../model/task.ts";
import { taskShape } from "../keepers/task-shape.ts";
import {
  completeAdopted,
  knownSchema,
  lastMigration,
  migrate,
  migrationTables,
} from "../migrations/migrate.ts";
import { type BackupTable, backupTables, transientTables } from "../query/backup-tables.ts";
import type { Database } from "../query/dialect.ts";
import { databaseOver } from "../query/kysely-dialect.ts";
import type { StoredRow } from "../query/row.ts";
import { type BackupHeader, createBackupFile, readBackupFile } from "./backup-file.ts";
import { type BulkConnection, openBulkConnection } from "./bulk-connection.ts";
import { requireSchema } from "./existing-database.ts";

const rowsPerBatch = 500;
/** The key columns of each table, which also define the reading order. */
const keysOf: Record<BackupTable, [string, ...string[]]> = {
  meta: ["name"],
  users: ["id"],
  identities: ["id"],
  former_logins: ["user_id", "host", "login"],
  sessions: ["id"],
  api_tokens: ["id"],
  groups: ["id"],
  group_members: ["group_id", "user_id"],
  group_secrets: ["group_id", "name"],
  projects: ["id"],
  project_secrets: ["project_id", "name"],
  project_members: ["project_id", "user_id"],
  route_places: ["domain", "path"],
  webhook_configs: ["project_id"],
  former_keys: ["key_hash"],
  deliveries: ["id"],
  replaced_deliveries: ["delivery_id"],
  tasks: ["id"],
  task_logs: ["task_id", "first_index"],
  releases: ["task_id"],
  service_outputs: ["task_id"],
  services: ["project_id", "name"],
  service_samples: ["project_id", "name", "at"],
  service_requests: ["project_id", "name", "at"],
  runners: ["id"],
  host_tokens: ["id"],
  host_hooks: ["project_id"],
  audit: ["id"],
  push_codes: ["code_hash"],
  gateway_minutes: ["at", "gateway"],
};

export interface BackupOptions {
  databaseUrl: string;
  path: string;
  /** Text of the key file; null if the key is a setting, which a backup does not contain. */
  key: string | null;
  now: Date;
}

/** Writes a consistent snapshot of the whole database into one file, while the server runs. */
export async function backUp({ databaseUrl, path, key, now }: BackupOptions): Promise<{ rows: number }> {
  const file = await createBackupFile(path);
  const connection = await openBulkConnection(databaseUrl).catch(async (error: unknown) => {
    await file.abandon();
    throw error;
  });
  try {
    await connection.beginReading();
    const db = databaseOver(connection.dialect, connection.execute);
    const header: BackupHeader = {
      format: "slipway backup",
      version: 1,
      createdAt: now.toISOString(),
      schema: await requireSchema(db),
      key,
    };
    await file.write(header);
    let rows = 0;
    // A database before its upgrade has only the tables of its version.
    const present = (await db.introspection.getTables()).map(({ name }) => name);
    for (const table of backupTables.filter((name) => present.includes(name))) {
      for await (const batch of batchesOf(db, table)) {
        await file.write({ table, rows: batch });
        rows += batch.length;
      }
    }
    await file.write({ end: true, rows });
    await file.finish();
    return { rows };
  } catch (error) {
    await file.abandon();
    throw error;
  } finally {
    await connection.close();
  }
}

/** Continues after the last key of the previous batch, so that no batch skips rows. */
async function* batchesOf(db: Database, table: BackupTable): AsyncGenerator<StoredRow[]> {
  const keys = keysOf[table];
  const columns = sql.join(keys.map((key) => sql.ref(key)));
  for (let last: StoredRow | undefined; ; ) {
    const after: StoredRow | undefined = last;
    const from =
      after === undefined
        ? sql`true`
        : sql<SqlBool>`(${columns}) > (${sql.join(keys.map((key) => after[key]))})`;
    const { rows } = await sql<StoredRow>`select * from ${sql.table(table)} where ${from}
      order by ${columns} limit ${rowsPerBatch}`.execute(db);
    if (rows.length === 0) return;
    yield rows;
    last = rows.at(-1);
  }
}

export interface RestoreOptions {
  /** An empty database whose schema is up to date. */
  databaseUrl: string;
  path: string;
  /** Called with the key of the backup before anything is written. */
  onKey: (key: string | null) => Promise<void>;
  /** The state in which unfinished tasks end; null keeps them, so that they run here. */
  endTask: ((task: Task) => Partial<Task>) | null;
}

export interface Restored {
  rows: number;
  /** Tasks that were queued or running and are canceled now. */
  canceledTasks: number;
}

/**
 * Writes a backup into an empty database in one transaction. Rows of an earlier version go into that version's tables
 * and through the later migrations, as in an upgrade, because migrations also correct rows.
 */
export async function restore({ databaseUrl, path, onKey, endTask }: RestoreOptions): Promise<Restored> {
  const connection = await openBulkConnection(databaseUrl);
  try {
    await connection.beginWriting();
    const db = databaseOver(connection.dialect, connection.execute);
    await refuseUnlessEmpty(db);
    let rows = 0;
    let recorded = "";
    for await (const line of readBackupFile(path)) {
      if ("format" in line) {
        const schema = schemaOf(line, path);
        if (schema !== lastMigration) await returnToSchema(connection, schema);
        await onKey(line.key);
        recorded = line.schema;
        continue;
      }
      await db
        .insertInto(line.table)
        .values(line.rows as never)
        .execute();
      rows += line.rows.length;
    }
    await completeAdopted(db, recorded);
    await migrate(db, connection.dialect);
    for (const table of backupTables)
      if (keysOf[table][0] === "id") await connection.dialect.numberOnFrom(db, table);
    const canceledTasks = endTask === null ? 0 : await endTasks(db, endTask);
    await connection.commit();
    return { rows, canceledTasks };
  } finally {
    await connection.close();
  }
}

/**
 * The original installation has run these tasks since, or runs them now: a second run would deploy an old commit over a
 * newer one. A debounce window is a queued task, so it ends too, and so does a deploy that waits for an approval, which may
 * have been approved there.
 */
async function endTasks(db: Database, endTask: NonNullable<RestoreOptions["endTask"]>): Promise<number> {
  const unfinished = await db
    .selectFrom("tasks")
    .selectAll()
    .where("state", "in", [...unfinishedStates, "waiting"])
    .execute();
  for (const row of unfinished) {
    const change = { ...endTask(taskShape.read(row)), leaseHash: null, leaseUntil: null, notBefore: null };
    await db.updateTable("tasks").set(taskShape.update(change)).where("id", "=", row.id).execute();
  }
  return unfinished.length;
}

/** Replaces the empty tables of this version by those of an earlier version. */
async function returnToSchema(connection: BulkConnection, schema: string): Promise<void> {
  const db = databaseOver(connection.dialect, connection.execute);
  for (const table of [...transientTables, ...backupTables.toReversed(), ...migrationTables])
    await sql`drop table ${sql.table(table)}`.execute(db);
  await migrate(db, connection.dialect, schema);
}

async function refuseUnlessEmpty(db: Database): Promise<void> {
  for (const table of backupTables) {
    if (table === "meta") continue;
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0)
      throw new Fault("conflict", `The database is not empty (${table}): restore into a new one.`);
  }
  await db.deleteFrom("meta").execute();
}

function schemaOf(header: BackupHeader, path: string): string {
  if (header.format !== "slipway backup" || header.version !== 1)
    throw new Fault("invalid", `${path} is no backup of this program.`);
  const schema = knownSchema(header.schema);
  if (schema !== null) return schema;
  throw new Fault(
    "invalid",
    `The backup has the schema ${header.schema}, which this version cannot use; its own is ${lastMigration}. Restore the backup with the version that made it.`,
  );
}
