import type { Session, SessionKeeper } from "../../model/user.ts";
import { plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const sessions = table<Session, "sessions">("sessions", {
  id: plain(),
  userId: plain(),
  tokenHash: plain(),
  userAgent: plain(),
  remoteIp: plain(),
  createdAt: time,
  lastSeenAt: time,
  expiresAt: time,
});

export function buildSessionKeeper(scope: Scope): SessionKeeper {
  const { db } = scope;
  return {
    create: (session) => sessions.create(scope, session),
    byTokenHash: (tokenHash) => sessions.one(scope, { tokenHash }),
    listOfUser: (userId) => sessions.all(scope, { userId }, ["lastSeenAt desc", "id desc"], 1000),
    async touch(id, at) {
      await sessions.change(scope, { id }, { lastSeenAt: at });
    },
    delete: async (id) => (await sessions.delete(scope, { id })) > 0,
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
