import { closeSync, mkdirSync, openSync } from "node:fs";
import { open, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Kysely } from "kysely";
import type { Clock } from "../../clock.ts";
import { Fault, messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { migrate } from "../migrations/migrate.ts";
import { buildStoreTime, moveWaiting } from "../query/clock-step.ts";
import { codeOf, type Database, sqliteDialect } from "../query/dialect.ts";
import type { Engine } from "../query/engine.ts";
import { dialectOver, type Execute, type Query, type QueryAnswer } from "../query/kysely-dialect.ts";
import { runMadeUnit } from "../query/made-unit.ts";
import type { Schema } from "../query/schema.ts";
import type { MadeUnit, Scope } from "../query/scope.ts";
import { buildWriteCheck, probeWrite } from "../query/write-check.ts";
import { buildGroupWriter } from "./group-writer.ts";
import { buildSqliteBackground } from "./sqlite-background.ts";
import { connect, type SqliteConnection } from "./sqlite-connection.ts";
import { buildCheckpoints, cutLog } from "./sqlite-log.ts";
import { buildSqliteThread } from "./sqlite-thread.ts";
import { begin } from "./work-group.ts";

/**
 * WAL lets readers go on while one writes. With synchronous=NORMAL SQLite syncs at checkpoints only, which keeps the
 * file whole at any crash. What FULL adds, a sync of the WAL at every commit before it is acknowledged, is done by the
 * writers themselves: SQLite's own stops whoever commits for as long as the disk takes, and syncs the file's times too.
 * Acknowledged therefore means on disk, exactly as with FULL.
 */
const commonPragmas = [
  "pragma synchronous = normal",
  "pragma foreign_keys = on",
  // Checkpoints run in the background. Only what they leave behind under steady writing, which never lets the WAL start
  // anew, is finished by a writer, every 125 MiB.
  "pragma wal_autocheckpoint = 16000",
  // Size limit of the log when it restarts under steady writes.
  "pragma journal_size_limit = 16777216",
  "pragma cache_size = -65536",
  "pragma temp_store = memory",
];
const threadPragmas = [...commonPragmas, "pragma busy_timeout = 5000"];
const writerPragmas = [
  // Of a new file: a delivery with its body takes fewer pages to write.
  "pragma page_size = 8192",
  "pragma journal_mode = wal",
  ...commonPragmas,
  "pragma busy_timeout = 100",
];
const readerPragmas = [
  "pragma busy_timeout = 100",
  "pragma cache_size = -65536",
  "pragma temp_store = memory",
];

/** With less space left than this, the next write may fail. */
const littleBytes = 16 * 1024 * 1024;
/** A large delivery no longer fits. */
const noBytes = 512 * 1024;

export interface SqliteOptions {
  path: string;
  log: Log;
  clock: Clock;
  /** A transaction that takes longer is undone. */
  unitTimeoutMs?: number;
}

/** All else is read: a write that begins otherwise is refused by the reader, and does not go unnoticed. */
const changes = /^(?:insert|update|delete) /;
const changesConfiguration =
  /^(?:insert into|update|delete from) "(?:projects|project_secrets|webhook_configs)"/;

/** Counts committed changes of projects, their secrets and webhooks: this process is the only one that writes the file. */
function buildVersion() {
  let current = 0;
  let isTouched = false;
  return {
    current: () => current,
    watch: (connection: SqliteConnection): SqliteConnection => ({
      ...connection,
      execute(query) {
        if (changesConfiguration.test(query.sql)) isTouched = true;
        return connection.execute(query);
      },
    }),
    /** Not before the commit: what a reader saw until then was the old version. */
    committed(written: MadeUnit[]) {
      if (isTouched || written.some((unit) => unit.some(({ sql }) => changesConfiguration.test(sql))))
        current++;
      isTouched = false;
    },
  };
}

export async function openSqlite(options: SqliteOptions): Promise<Engine> {
  const { path, log, clock, unitTimeoutMs = 10_000 } = options;
  const file = resolve(path);
  const connection = openWriter(file);
  await migrateAlone(connection);
  cutLog(connection, log);
  const reader = connect(file, { readonly: true });
  for (const pragma of readerPragmas) reader.run(pragma);
  const wal = await open(`${file}-wal`, "r+");

  const background = buildSqliteBackground(file);
  const checkpoints = buildCheckpoints(background, async () => (await wal.stat()).size, log);
  const version = buildVersion();
  const writer = version.watch(connection);
  let inside = buildInnerScope(writer);
  const thread = buildSqliteThread({ file, pragmas: threadPragmas });
  const group = buildGroupWriter({
    connection: writer,
    async write(units) {
      const outcomes = await thread.write(units);
      checkpoints.written();
      return outcomes;
    },
    async sync() {
      await wal.datasync();
      checkpoints.written();
    },
    onCommit: version.committed,
    unitTimeoutMs,
    onUnitTimeout() {
      inside.end();
      inside = buildInnerScope(writer);
    },
  });
  const execute: Execute = async <R>(query: Query) => {
    if (!changes.test(query.sql)) return reader.execute<R>(query);
    const [answer] = await writes.watch(group.write([query]));
    return answer as QueryAnswer<R>;
  };

  const scope: Scope = {
    db: databaseOver(execute),
    lists: databaseOver((query) => background.execute(query)),
    execute,
    executeTogether: (unit) => writes.watch(group.write(unit)),
    dialect: sqliteDialect,
    transact: (work) => writes.watch(group.run(() => work(inside.scope))),
  };
  const writes = buildWriteCheck({
    isRefusal,
    space: () => spaceOf(dirname(file)),
    probe: () => probeWrite(scope),
  });
  const time = buildStoreTime(clock, (ms) => scope.transact((inner) => moveWaiting(inner, ms)), log);
  return {
    scope,
    description: `SQLite ${file}`,
    version: version.current,
    now: async () => time.now(),
    async check() {
      group.check();
      reader.execute({ sql: "select 1", parameters: [] });
      return writes.problem();
    },
    runLocked: (_name, _waitMs, work) => time.during(() => work(scope)),
    async close() {
      checkpoints.close();
      await group.close();
      await thread.stop("The database is closed.");
      await background.close();
      reader.close();
      cutLog(connection, log);
      await wal.close();
      writer.close();
    },
  };
}

/** Some file systems reserve space for root, so only the space available to all users counts. */
async function spaceOf(folder: string): Promise<"enough" | "little" | "none"> {
  const { bavail, bfree, bsize } = await statfs(folder);
  if (bfree * bsize < noBytes) return "none";
  return bavail * bsize < littleBytes ? "little" : "enough";
}

/** SQLite's error codes for a disk that cannot be written. */
const refusals = /^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/;

function isRefusal(error: unknown): boolean {
  return refusals.test(codeOf(error)) || (error instanceof Fault && refusals.test(codeOf(error.cause)));
}

function databaseOver(execute: Execute): Database {
  return new Kysely<Schema>({ dialect: dialectOver(sqliteDialect.name, execute) });
}

/** The scope of the unit that the writer runs now: there is never more than one. */
function buildInnerScope(writer: SqliteConnection): { scope: Scope; end(): void } {
  let isOver = false;
  /** Also what a nested part ends with: by now another unit may have one of the same name. */
  const stillOpen = (): SqliteConnection => {
    if (isOver) throw new Fault("internal", "This transaction is over.");
    return writer;
  };
  const execute: Execute = async (query) => stillOpen().execute(query);
  const db = databaseOver(execute);
  const scope: Scope = {
    db,
    lists: db,
    execute,
    executeTogether: (unit) => runMadeUnit(scope, unit),
    dialect: sqliteDialect,
    async transact(work) {
      stillOpen().run("savepoint part");
      try {
        const value = await work(scope);
        stillOpen().run("release part");
        return value;
      } catch (error) {
        stillOpen().run("rollback to part");
        stillOpen().run("release part");
        throw error;
      }
    },
  };
  return {
    scope,
    end() {
      isOver = true;
    },
  };
}

/** The write lock is taken before the first look, so that a second process waits for the first and finds the work done. */
async function migrateAlone(writer: SqliteConnection): Promise<void> {
  const db = databaseOver(async (query) => writer.execute(query));
  await begin(writer);
  try {
    await migrate(db, sqliteDialect);
    writer.run("commit");
  } catch (error) {
    writer.run("rollback");
    throw error;
  }
}

function openWriter(file: string): SqliteConnection {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Hashes of passwords and tokens are for the owner alone; SQLite gives its other files the mode of this one.
    closeSync(openSync(file, "a", 0o600));
    const writer = connect(file, { readonly: false });
    for (const pragma of writerPragmas) writer.run(pragma);
    return writer;
  } catch (error) {
    throw new Fault("unavailable", `The database ${file} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
