import { sql } from "kysely";
import { logLineSize } from "../../log-line-size.ts";
import type { LogLine, TaskKeeper } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { inTransaction } from "../query/keeper-call.ts";
import { orFault, type Scope } from "../query/scope.ts";

/** Lines of version 1.0 have no step. */
type StoredLine = [stage: LogLine["stage"], at: number, text: string, step?: string];

const selectEnd = fixedQuery(["task_id"], (db, { task_id }: { task_id: number }) =>
  db
    .selectFrom("task_logs")
    .select(["next_index", "bytes_after"])
    .where("task_id", "=", task_id)
    .orderBy("first_index", "desc")
    .limit(sql.lit(1)),
);

type TaskLogKeeper = Pick<TaskKeeper, "appendLog" | "nextLogIndex" | "log" | "logBytes">;

/** Lines are stored as they arrive, one row per batch: ten thousand lines a second are then a few rows a second. */
export function buildTaskLogKeeper(scope: Scope): TaskLogKeeper {
  const { db, dialect } = scope;
  const end = async (taskId: number) => {
    const [row] = await selectEnd(scope, { task_id: taskId });
    return { nextIndex: row?.next_index ?? 0, bytes: row?.bytes_after ?? 0 };
  };

  return {
    appendLog: inTransaction(async (taskId, lines) => {
      const { nextIndex, bytes } = await end(taskId);
      const fresh = continuing(lines, nextIndex);
      if (fresh.length === 0) return nextIndex;
      const stored: StoredLine[] = fresh.map(({ stage, at, text, step }) =>
        step === null ? [stage, at.getTime(), text] : [stage, at.getTime(), text, step],
      );
      const insert = db
        .insertInto("task_logs")
        .values({
          task_id: taskId,
          first_index: nextIndex,
          next_index: nextIndex + fresh.length,
          bytes_after: fresh.reduce((sum, line) => sum + logLineSize(line.text), bytes),
          lines: JSON.stringify(stored),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning("next_index");
      const row = await orFault(dialect, insert.executeTakeFirst(), {
        missing: newReason("gone_task", { id: taskId }),
      });
      // Another append of the same lines was first: its rows decide.
      return row?.next_index ?? (await end(taskId)).nextIndex;
    }),
    nextLogIndex: async (taskId) => (await end(taskId)).nextIndex,
    logBytes: async (taskId) => (await end(taskId)).bytes,
    async log(taskId, from, limit) {
      const holdsFrom = db
        .selectFrom("task_logs")
        .select((eb) => eb.fn.max("first_index").as("first_index"))
        .where("task_id", "=", taskId)
        .where("first_index", "<=", from);
      const rows = await db
        .selectFrom("task_logs")
        .select(["first_index", "lines"])
        .where("task_id", "=", taskId)
        .where("first_index", ">=", holdsFrom)
        .where("first_index", "<", from + limit)
        .orderBy("first_index")
        .execute();
      return rows
        .flatMap((row) => readLines(row.first_index, row.lines))
        .filter((line) => line.index >= from && line.index < from + limit);
    },
  };
}

/** The lines that continue a log at `nextIndex` without a gap; earlier lines are repeats. */
function continuing(lines: LogLine[], nextIndex: number): LogLine[] {
  const fresh = lines.filter((line) => line.index >= nextIndex).sort((a, b) => a.index - b.index);
  const gap = fresh.findIndex((line, offset) => line.index !== nextIndex + offset);
  return gap === -1 ? fresh : fresh.slice(0, gap);
}

function readLines(firstIndex: number, lines: string): LogLine[] {
  return (JSON.parse(lines) as StoredLine[]).map(([stage, at, text, step = null], offset) => ({
    index: firstIndex + offset,
    stage,
    step,
    at: new Date(at),
    text,
  }));
}

/** Deletes at most `limit` rows of these tasks' logs; returns the number of deleted rows. */
export async function deleteLogRows(
  { db, dialect }: Pick<Scope, "db" | "dialect">,
  taskIds: readonly number[],
  limit: number,
): Promise<number> {
  const result = await db
    .deleteFrom("task_logs")
    .where((eb) =>
      eb(
        eb.refTuple("task_id", "first_index"),
        "in",
        eb
          .selectFrom("task_logs")
          .select(["task_id", "first_index"])
          .where(dialect.isAmong("task_id", taskIds))
          .limit(limit)
          .$asTuple("task_id", "first_index"),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
