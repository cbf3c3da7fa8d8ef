/** What runs on a thread of the SQLite store: one connection, and the requests of sqlite-thread.ts. */
import { fdatasync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../errors.ts";
import type { QueryAnswer } from "../query/kysely-dialect.ts";
import { withIds } from "../query/made-unit.ts";
import type { MadeUnit } from "../query/scope.ts";
import { connect } from "./sqlite-connection.ts";
import {
  type Failure,
  failedSync,
  type ThreadAnswer,
  type ThreadData,
  type ThreadRequest,
  type UnitAnswer,
} from "./sqlite-thread.ts";
import { decodeUnits } from "./unit-message.ts";

const { file, pragmas } = workerData as ThreadData;
const connection = connect(file, { readonly: false });
for (const pragma of pragmas) connection.run(pragma);

/** A unit failed after some of its queries: what those did must be undone. */
class HalfDone extends Error {}

/**
 * To undo one unit alone takes a savepoint, for which SQLite copies every page before the unit changes it: a fifth of
 * all its work. Units hardly ever fail, and less often half way; then their group is written anew, with savepoints.
 */
function writeUnits(units: MadeUnit[]): UnitAnswer[] {
  try {
    return inTransaction(() => units.map(writeUnit));
  } catch (error) {
    if (!(error instanceof HalfDone)) throw error;
    return inTransaction(() => units.map(writeApart));
  }
}

function inTransaction(write: () => UnitAnswer[]): UnitAnswer[] {
  connection.run("begin immediate");
  try {
    const answers = write();
    connection.run("commit");
    return answers;
  } catch (error) {
    if (connection.isInTransaction()) connection.run("rollback");
    throw error;
  }
}

/** A query that fails undoes itself. */
function writeUnit(unit: MadeUnit): UnitAnswer {
  const answers: QueryAnswer[] = [];
  try {
    for (const { sql, parameters } of unit)
      answers.push(connection.execute({ sql, parameters: withIds(parameters, answers) }));
    return { answers };
  } catch (error) {
    // Then SQLite has undone the units before this one too.
    if (!connection.isInTransaction()) throw error;
    if (answers.length > 0) throw new HalfDone("A unit failed half way.", { cause: error });
    return { failure: failureOf(error) };
  }
}

function writeApart(unit: MadeUnit): UnitAnswer {
  connection.run("savepoint unit");
  try {
    const answer = writeUnit(unit);
    connection.run("release unit");
    return answer;
  } catch (error) {
    if (!(error instanceof HalfDone)) throw error;
    connection.run("rollback to unit");
    connection.run("release unit");
    return { failure: failureOf(error.cause) };
  }
}

function failureOf(error: unknown): Failure {
  const { message, code } = error as { message?: string; code?: string };
  return { message: message ?? String(error), code: code ?? "" };
}

/** What is committed and waits for a sync: the next one is for all of it, and runs while further units are written. */
let unsynced: ThreadAnswer[] = [];
let isSyncing = false;
let wal: number | null = null;
/** The kernel tells it once. What is written after it stands on what may be lost. */
let syncFailure: Failure | null = null;

/** What synchronous=FULL does inside of the commit, without the file's times, which cost another write. */
function sync(): void {
  if (isSyncing) return;
  const answers = unsynced;
  unsynced = [];
  isSyncing = true;
  const done = (error: Error | null) => {
    isSyncing = false;
    if (error !== null) syncFailure = { message: messageOf(error), code: failedSync };
    for (const answer of answers)
      parentPort?.postMessage(syncFailure === null ? answer : { failure: syncFailure });
    if (unsynced.length > 0) sync();
  };
  try {
    wal ??= openSync(`${file}-wal`, "r+");
    fdatasync(wal, done);
  } catch (error) {
    done(error as Error);
  }
}

function answerTo(request: ThreadRequest): ThreadAnswer {
  try {
    if (!Array.isArray(request)) return connection.execute(request);
    if (syncFailure !== null) return { failure: syncFailure };
    return JSON.stringify(writeUnits(decodeUnits(request)));
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

parentPort?.on("message", (request: ThreadRequest) => {
  const answer = answerTo(request);
  // Answers keep the order of the requests.
  if (Array.isArray(request) || isSyncing) {
    unsynced.push(answer);
    sync();
  } else parentPort?.postMessage(answer);
});
