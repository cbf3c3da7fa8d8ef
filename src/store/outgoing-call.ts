import { type SqlBool, sql } from "kysely";
import type { OutgoingCall, OutgoingCallKeeper } from "../model/outgoing-call.ts";
import { plain, rowShape, time } from "./row.ts";
import type { Scope } from "./scope.ts";

const shape = rowShape<OutgoingCall, "outgoing_calls">({
  id: plain(),
  projectId: plain(),
  kind: plain(),
  subject: plain(),
  url: plain(),
  messageId: plain(),
  proof: plain(),
  body: plain(),
  attempts: plain(),
  nextTryAt: time,
  createdAt: time,
});

/** No call waits longer for its next try. A later one is from before a clock was set back, and due. */
const longestWaitMs = 15 * 60_000;

export function buildOutgoingCallKeeper(scope: Scope): OutgoingCallKeeper {
  const { db } = scope;
  const count = async ({ db }: Scope) => {
    const { waiting } = await db
      .selectFrom("outgoing_calls")
      .select((eb) => eb.fn.countAll<number>().as("waiting"))
      .executeTakeFirstOrThrow();
    return waiting;
  };

  return {
    add: (call, maxWaiting) =>
      scope.transact(async (inner) => {
        if (call.subject !== null)
          await inner.db.deleteFrom("outgoing_calls").where("subject", "=", call.subject).execute();
        if ((await count(inner)) >= maxWaiting) return null;
        const { id } = await inner.db
          .insertInto("outgoing_calls")
          .values(shape.insert(call))
          .returning("id")
          .executeTakeFirstOrThrow();
        return id;
      }),
    async takeDue(now, until, limit) {
      const isDue = sql<SqlBool>`(next_try_at <= ${now.getTime()} or next_try_at > ${now.getTime() + longestWaitMs})`;
      const due = db
        .selectFrom("outgoing_calls")
        .select("id")
        .where(isDue)
        .orderBy("next_try_at")
        .limit(limit);
      // Looked at once more in the update itself: another instance may have taken it in between.
      const rows = await db
        .updateTable("outgoing_calls")
        .set((eb) => ({ attempts: eb("attempts", "+", 1), next_try_at: until.getTime() }))
        .where("id", "in", due)
        .where(isDue)
        .returningAll()
        .execute();
      return rows.map(shape.read).sort((a, b) => a.id - b.id);
    },
    async putOff({ id, attempts }, nextTryAt) {
      const result = await db
        .updateTable("outgoing_calls")
        .set({ next_try_at: nextTryAt.getTime() })
        .where("id", "=", id)
        .where("attempts", "=", attempts)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    async nextDue() {
      const row = await db
        .selectFrom("outgoing_calls")
        .select((eb) => eb.fn.min("next_try_at").as("at"))
        .executeTakeFirst();
      return row === undefined || row.at === null ? null : new Date(row.at);
    },
    async delete(id) {
      await db.deleteFrom("outgoing_calls").where("id", "=", id).execute();
    },
    count: () => count(scope),
  };
}
