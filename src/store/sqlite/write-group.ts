import { Fault, messageOf } from "../../errors.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { failureOf, type GroupAnswer, type Outcome, type ThreadCall } from "./thread-message.ts";

/** A call failed after it had written something, which must be undone. */
class HalfDone extends Error {}

/** Executes the calls in one transaction. */
type WriteGroup = (calls: readonly ThreadCall[]) => Promise<GroupAnswer>;

/**
 * To undo one call alone takes a savepoint, for which SQLite copies every page before the call changes it: a fifth of
 * all its work. Calls hardly ever fail after they wrote; then their group is undone and executed again, with savepoints.
 */
export function buildGroupWriter(
  connection: SqliteConnection,
  execute: (call: ThreadCall) => Promise<Outcome>,
): WriteGroup {
  async function plain(call: ThreadCall): Promise<Outcome> {
    const writesBefore = connection.writes();
    try {
      return await execute(call);
    } catch (error) {
      // Then SQLite has undone the calls before this one too.
      if (!connection.isInTransaction()) throw error;
      if (connection.writes() > writesBefore) throw new HalfDone("A call failed half way.", { cause: error });
      return { failure: failureOf(error) };
    }
  }

  async function undoable(call: ThreadCall): Promise<Outcome> {
    connection.run("savepoint one");
    try {
      const outcome = await plain(call);
      connection.run("release one");
      return outcome;
    } catch (error) {
      if (!(error instanceof HalfDone)) throw error;
      connection.run("rollback to one");
      connection.run("release one");
      return { failure: failureOf(error.cause) };
    }
  }

  async function inTransaction(calls: readonly ThreadCall[], each: typeof plain): Promise<Outcome[]> {
    connection.run("begin immediate");
    try {
      const outcomes: Outcome[] = [];
      for (const call of calls) outcomes.push(await each(call));
      connection.run("commit");
      return outcomes;
    } catch (error) {
      if (connection.isInTransaction()) connection.run("rollback");
      throw error;
    }
  }

  return async (calls) => {
    const writesBefore = connection.writes();
    try {
      const outcomes = await inTransaction(calls, plain).catch((error: unknown) => {
        if (!(error instanceof HalfDone)) throw error;
        return inTransaction(calls, undoable);
      });
      return { outcomes, hasWritten: connection.writes() > writesBefore };
    } catch (error) {
      if (error instanceof Fault) return { failure: failureOf(error) };
      const fault = `The database cannot be written: ${messageOf(error)}`;
      return { failure: failureOf(new Fault("unavailable", fault, { cause: error })) };
    }
  };
}
