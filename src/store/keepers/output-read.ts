import { type SqlBool, sql } from "kysely";
import type { OutputRead, OutputReadKeeper } from "../../model/service/output-read.ts";
import { inTransaction } from "../query/keeper-call.ts";
import { flag, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const reads = table<OutputRead, "output_reads">("output_reads", {
  key: plain(),
  runnerId: plain(),
  wanted: plain(),
  isTaken: flag,
  answer: plain(),
  createdAt: time,
});

export function buildOutputReadKeeper(scope: Scope): OutputReadKeeper {
  const { db } = scope;
  return {
    add: inTransaction(async ({ key, runnerId, wanted, createdAt }, limit) => {
      const waiting = await db
        .selectFrom("output_reads")
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .where("runner_id", "=", runnerId)
        .executeTakeFirstOrThrow();
      if (Number(waiting.count) >= limit) return false;
      await reads.put(scope, ["key"], { key, runnerId, wanted, isTaken: false, createdAt });
      return true;
    }),
    async take(runnerId) {
      const rows = await db
        .updateTable("output_reads")
        .set({ is_taken: 1 })
        .where("runner_id", "=", runnerId)
        .where(sql<SqlBool>`is_taken = 0`)
        .returning("wanted")
        .execute();
      return rows.map(({ wanted }) => wanted);
    },
    async answer(runnerId, key, answer) {
      await reads.change(scope, { key, runnerId }, { answer });
    },
    async answerOf(key) {
      return (await reads.one(scope, { key }))?.answer ?? null;
    },
    async delete(key) {
      await reads.delete(scope, { key });
    },
    async deleteOlderThan(before) {
      const result = await db
        .deleteFrom("output_reads")
        .where("created_at", "<", before.getTime())
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
