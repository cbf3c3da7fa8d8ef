import { type SqlBool, sql } from "kysely";
import type { FailedAttemptKeeper } from "../../model/failed-attempt.ts";
import type { Scope } from "../query/scope.ts";

export function buildFailedAttemptKeeper({ db }: Scope): FailedAttemptKeeper {
  return {
    async count(key, now, windowMs) {
      const at = now.getTime();
      const endsAt = at + windowMs;
      // A window end further ahead than any window lasts was stored before a clock was set back.
      const isOver = sql<SqlBool>`(attempts.ends_at <= ${at} or attempts.ends_at > ${at + 2 * windowMs})`;
      // One statement, so that attempts sent to several instances at the same time are all counted.
      const row = await db
        .insertInto("attempts")
        .values({ key, count: 1, ends_at: endsAt })
        .onConflict((conflict) =>
          conflict.column("key").doUpdateSet({
            count: sql`case when ${isOver} then 1 else attempts.count + 1 end`,
            ends_at: sql`case when ${isOver} then ${endsAt} else attempts.ends_at end`,
          }),
        )
        .returning(["count", "ends_at"])
        .executeTakeFirstOrThrow();
      return { count: row.count, endsAt: new Date(row.ends_at) };
    },
    async giveBack(key) {
      await db
        .updateTable("attempts")
        .set({ count: sql`count - 1` })
        .where("key", "=", key)
        .where("count", ">", 0)
        .execute();
    },
    async forget(key) {
      await db.deleteFrom("attempts").where("key", "=", key).execute();
    },
    async deleteEnded(now) {
      const result = await db.deleteFrom("attempts").where("ends_at", "<=", now.getTime()).executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
