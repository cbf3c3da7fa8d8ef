import type { Session, SessionKeeper } from "../../model/user.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { plain, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<Session, "sessions">({
  id: plain(),
  userId: plain(),
  tokenHash: plain(),
  userAgent: plain(),
  remoteIp: plain(),
  createdAt: time,
  lastSeenAt: time,
  expiresAt: time,
});

const selectByHash = fixedQuery(["hash"], (db, { hash }: { hash: string }) =>
  db.selectFrom("sessions").selectAll().where("token_hash", "=", hash),
);

export function buildSessionKeeper(scope: Scope): SessionKeeper {
  const { db } = scope;
  return {
    async create(session) {
      const row = await db
        .insertInto("sessions")
        .values(shape.insert(session))
        .returningAll()
        .executeTakeFirstOrThrow();
      return shape.read(row);
    },
    async byTokenHash(tokenHash) {
      const [row] = await selectByHash(scope, { hash: tokenHash });
      return row === undefined ? null : shape.read(row);
    },
    async listOfUser(userId) {
      const rows = await db
        .selectFrom("sessions")
        .selectAll()
        .where("user_id", "=", userId)
        .orderBy("last_seen_at", "desc")
        .orderBy("id", "desc")
        .limit(1000)
        .execute();
      return rows.map(shape.read);
    },
    async touch(id, at) {
      await db.updateTable("sessions").set({ last_seen_at: at.getTime() }).where("id", "=", id).execute();
    },
    async delete(id) {
      const result = await db.deleteFrom("sessions").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    async deleteOfUser(userId, exceptId) {
      const result = await db
        .deleteFrom("sessions")
        .where("user_id", "=", userId)
        .$if(exceptId !== undefined, (query) => query.where("id", "!=", exceptId ?? 0))
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
    async deleteExpired(now) {
      const result = await db
        .deleteFrom("sessions")
        .where("expires_at", "<=", now.getTime())
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
