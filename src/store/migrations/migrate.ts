import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  type Kysely,
  type Migration,
  Migrator,
  sql,
} from "kysely";
import { Fault, messageOf } from "../../errors.ts";
import type { Dialect } from "../query/dialect.ts";
import { schema as firstSchema } from "./0001-schema.ts";
import { reasonsAsData } from "./0002-reasons-as-data.ts";
import { publicUrl } from "./0003-public-url.ts";
import { replaysIndex } from "./0004-replays-index.ts";
import { defaultNotify } from "./0005-default-notify.ts";
import { traceparent } from "./0006-traceparent.ts";
import { pipeline } from "./0007-pipeline.ts";
import { releaseOrder } from "./0008-release-order.ts";
import { fetchingSince } from "./0009-fetching-since.ts";
import { runnerRegistration } from "./0010-runner-registration.ts";
import { sandboxIsolation } from "./0011-sandbox-isolation.ts";
import { isolationNote } from "./0012-isolation-note.ts";
import { startServices } from "./0013-start-services.ts";
import { runningServices } from "./0014-running-services.ts";
import { diskUse } from "./0015-disk-use.ts";
import { releaseImages } from "./0016-release-images.ts";
import { routes } from "./0017-routes.ts";
import { signIn } from "./0018-sign-in.ts";
import { pipelineFile } from "./0019-pipeline-file.ts";
import { groupValues } from "./0020-group-values.ts";
import { environments } from "./0021-environments.ts";
import { tasksByHand } from "./0022-tasks-by-hand.ts";
import { transfers } from "./0023-transfers.ts";

const migrations = {
  "0001-schema": firstSchema,
  "0002-reasons-as-data": reasonsAsData,
  "0003-public-url": publicUrl,
  "0004-replays-index": replaysIndex,
  "0005-default-notify": defaultNotify,
  "0006-traceparent": traceparent,
  "0007-pipeline": pipeline,
  "0008-release-order": releaseOrder,
  "0009-fetching-since": fetchingSince,
  "0010-runner-registration": runnerRegistration,
  "0011-sandbox-isolation": sandboxIsolation,
  "0012-isolation-note": isolationNote,
  "0013-start-services": startServices,
  "0014-running-services": runningServices,
  "0015-disk-use": diskUse,
  "0016-release-images": releaseImages,
  "0017-routes": routes,
  "0018-sign-in": signIn,
  "0019-pipeline-file": pipelineFile,
  "0020-group-values": groupValues,
  "0021-environments": environments,
  "0022-tasks-by-hand": tasksByHand,
  "0023-transfers": transfers,
} as const satisfies Record<string, (dialect: Dialect) => Migration>;

/** The schemas of all versions, oldest first. */
export const schemas = Object.keys(migrations);

/** The schema that this version works with. */
export const lastMigration = schemas.at(-1) ?? "";

/** The last schema before the first release: its tables are those of `0001-schema`. */
const adoptedSchema = "0027-skip-keywords";

/** The tables in which Kysely records migrations. */
export const migrationTables = [DEFAULT_MIGRATION_TABLE, DEFAULT_MIGRATION_LOCK_TABLE];

/** The schema of this version that has the tables of `recorded`, the name in a database or a backup; null: none has. */
export function knownSchema(recorded: string): string | null {
  if (recorded === adoptedSchema) return "0001-schema";
  return schemas.includes(recorded) ? recorded : null;
}

/**
 * Migrates the schema. The caller holds the database's lock, so that of two instances that start together, the second
 * finds the work done. Migrations are listed here, not searched in a folder, because the program is also compiled into
 * one file. `schema` is this version's unless a restore or a test names an earlier one.
 */
export async function migrate<S>(db: Kysely<S>, dialect: Dialect, schema = lastMigration): Promise<void> {
  await adoptOrRefuse(db);
  const made = Object.entries(migrations).map(([name, make]) => [name, make(dialect)] as const);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(made) },
  });
  const { error, results } = await migrator.migrateTo(schema);
  if (error === undefined) return;
  // Not a fault of the migration: the database is away or damaged.
  if (error instanceof Fault) throw error;
  const failed = results?.find((result) => result.status === "Error")?.migrationName ?? "the schema";
  throw new Fault(
    "internal",
    `The database could not be brought up to date (${failed}): ${messageOf(error)}`,
    {
      cause: error,
    },
  );
}

const migrationTable = sql.table(DEFAULT_MIGRATION_TABLE);

/** The schema that the database has, as it is recorded there; null: it has none. Throws if this version cannot use it. */
export async function recordedSchema<S>(db: Kysely<S>): Promise<string | null> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return null;
  const { rows } = await sql<{ name: string }>`select name from ${migrationTable} order by name`.execute(db);
  const last = rows.at(-1)?.name ?? null;
  const recorded =
    last === adoptedSchema ? last : (rows.findLast(({ name }) => knownSchema(name) === null)?.name ?? last);
  if (recorded === null || knownSchema(recorded) !== null) return recorded;
  if (rows.some(({ name }) => name === lastMigration))
    throw new Fault(
      "conflict",
      `A later version of Slipway has upgraded the database: it has the schema ${recorded}, and this version knows those up to ${lastMigration}. Start that version again, or restore the backup that was made before the upgrade into an empty database.`,
    );
  throw new Fault(
    "conflict",
    `The database has the schema ${recorded}, which this version cannot use: it knows ${schemas.join(", ")} and adopts ${adoptedSchema}. Start the version that wrote the database, or use an empty one.`,
  );
}

async function adoptOrRefuse<S>(db: Kysely<S>): Promise<void> {
  const recorded = await recordedSchema(db);
  if (recorded === null || schemas.includes(recorded)) return;
  await sql`delete from ${migrationTable} where name <> ${recorded}`.execute(db);
  await sql`update ${migrationTable} set name = ${knownSchema(recorded)}`.execute(db);
  await completeAdopted(db, recorded);
}

/** In rows of the adopted schema, a start stage may lack the choice of what happens to the previous service. */
export async function completeAdopted<S>(db: Kysely<S>, recorded: string): Promise<void> {
  if (recorded !== adoptedSchema) return;
  await sql`update projects set stages = replace(stages, '"start":{', '"start":{"previous":"keep",')
    where stages not like '%"previous":"%'`.execute(db);
}
