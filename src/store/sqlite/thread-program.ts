import { parentPort, workerData } from "node:worker_threads";
import { Fault, messageOf } from "../../errors.ts";
import type { AnyOperation } from "../../model/store.ts";
import { buildKeepers } from "../keepers/keepers.ts";
import { buildUpkeep } from "../keepers/upkeep.ts";
import { sqliteDialect } from "../query/dialect.ts";
import { callKeeper, kindsOf } from "../query/keeper-call.ts";
import { databaseOver, type Execute } from "../query/kysely-dialect.ts";
import {
  begin,
  type CallGroup,
  failureOf,
  type Outcome,
  type ThreadCall,
  type ThreadData,
} from "./call-group.ts";
import { openLister, openWriter, truncateLog, truncateLongLog } from "./open-file.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/** After this long without a call, the writer truncates the log. */
const idleMs = 2_000;

/** What runs on a thread of the SQLite store: one connection, and the operations and calls that it is sent. */
export function serveSqliteThread(operations: readonly AnyOperation[]): void {
  if (parentPort === null) throw new Error("This program runs on a thread of the store.");
  const port = parentPort;
  const { file, role } = workerData as ThreadData;
  const opening = role === "writer" ? openWriter(file) : openLister(file);
  const executing = opening.then((connection) => buildExecutor(connection, role, operations));
  executing.catch(() => {});
  let idleTimer: ReturnType<typeof setTimeout> | undefined;

  async function answer(group: CallGroup): Promise<void> {
    clearTimeout(idleTimer);
    const outcomes = await executing
      .then((execute) => execute(group))
      .catch((error: unknown) => group.calls.map(() => ({ failure: failureOf(error) })));
    port.postMessage(outcomes);
    if (role === "writer") idleTimer = setTimeout(async () => truncateLongLog(file, await opening), idleMs);
  }

  async function close(): Promise<void> {
    const connection = await opening.catch(() => null);
    if (connection !== null && role === "writer") truncateLog(connection);
    connection?.close();
    process.exit();
  }

  port.on("message", (group: CallGroup | null) => (group === null ? close() : answer(group)));
}

/** Executes groups in one transaction each. A call that fails is undone alone. */
function buildExecutor(
  connection: SqliteConnection,
  role: ThreadData["role"],
  operations: readonly AnyOperation[],
): (group: CallGroup) => Promise<Outcome[]> {
  const table = new Map(operations.map((operation) => [operation.name, operation]));
  const query: Execute = async (each) => connection.execute(each);
  const scope = { db: databaseOver(sqliteDialect, query), execute: query, dialect: sqliteDialect };
  let now = new Date(0);
  const nouns = buildKeepers(scope);
  const keepers = { ...nouns, upkeep: buildUpkeep(scope), now: () => now };

  async function perform({ name, parameters }: ThreadCall): Promise<unknown> {
    if (name === "kinds") return kindsOf(nouns);
    const [noun = "", method] = name.split(".");
    if (method !== undefined) return callKeeper(keepers, { noun, method, parameters });
    const operation = table.get(name);
    if (operation === undefined) throw new Error(`The operation ${name} is not registered.`);
    return operation.run(keepers, parameters[0] as never);
  }

  async function execute(call: ThreadCall, elapsedMs: number): Promise<Outcome> {
    // Its caller has an answer.
    if (!begin(call)) return { value: null };
    now = new Date(Math.round(elapsedMs + call.offsetMs));
    connection.run("savepoint call");
    try {
      const value = await perform(call);
      connection.run("release call");
      return { value };
    } catch (error) {
      // SQLite itself has undone the calls before this one too.
      if (!connection.isInTransaction()) throw error;
      connection.run("rollback to call");
      connection.run("release call");
      return { failure: failureOf(error) };
    }
  }

  return async ({ elapsedMs, calls }) => {
    try {
      connection.run(role === "writer" ? "begin immediate" : "begin");
      const outcomes: Outcome[] = [];
      for (const call of calls) outcomes.push(await execute(call, elapsedMs));
      // With synchronous=FULL this returns when everything is on disk.
      connection.run("commit");
      return outcomes;
    } catch (error) {
      if (connection.isInTransaction()) connection.run("rollback");
      if (error instanceof Fault) throw error;
      throw new Fault("unavailable", `The database cannot be written: ${messageOf(error)}`, { cause: error });
    }
  };
}
