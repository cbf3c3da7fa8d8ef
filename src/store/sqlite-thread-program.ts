/** What runs on a thread of the SQLite store: one connection, and the requests of sqlite-thread.ts. */
import { fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { type MadeUnit, withIds } from "./made-unit.ts";
import { connect } from "./sqlite-connection.ts";
import {
  type Failure,
  failedSync,
  type QueryAnswer,
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
  const answers: QueryResult<unknown>[] = [];
  try {
    for (const { sql, parameters } of unit)
      answers.push(connection.execute({ sql, parameters: withIds(parameters, answers) }));
    return { answers: answers.map(crossing) };
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

/** JSON knows no big integers. */
function crossing({ rows, numAffectedRows, insertId }: QueryResult<unknown>): QueryAnswer {
  return [rows, Number(numAffectedRows ?? 0), Number(insertId ?? 0)];
}

function failureOf(error: unknown): Failure {
  const { message, code } = error as { message?: string; code?: string };
  return { message: message ?? String(error), code: code ?? "" };
}

let wal: number | null = null;
/** The kernel tells it once. What is written after it stands on what may be lost. */
let syncFailure: Error | null = null;

/** What synchronous=FULL does inside of the commit, without the file's times, which cost another write. */
function sync(): void {
  try {
    wal ??= openSync(`${file}-wal`, "r+");
    fdatasyncSync(wal);
  } catch (error) {
    syncFailure = Object.assign(error as Error, { code: failedSync });
    throw syncFailure;
  }
}

function answerTo(request: ThreadRequest): ThreadAnswer {
  try {
    if (typeof request !== "string") return { rows: connection.execute<object>(request).rows };
    if (syncFailure !== null) throw syncFailure;
    const answers = writeUnits(decodeUnits(request));
    sync();
    return JSON.stringify(answers);
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

parentPort?.on("message", (request: ThreadRequest) => parentPort?.postMessage(answerTo(request)));
