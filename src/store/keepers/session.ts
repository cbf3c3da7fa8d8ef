import type { ExpressionBuilder } from "kysely";
import type { Session, SessionKeeper } from "../../model/user.ts";
import { longRead } from "../query/keeper-call.ts";
import { optional, plain, time } from "../query/row.ts";
import type { Schema } from "../query/schema.ts";
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
  identityId: plain(),
  refreshAt: optional(time),
  providerSession: plain(),
  providerGrant: plain(),
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
    async takeDue(now, until, limit) {
      const due = (query: ExpressionBuilder<Schema, "sessions">) => query("refresh_at", "<=", now.getTime());
      const rows = await db
        .updateTable("sessions")
        .set({ refresh_at: until.getTime() })
        .where("id", "in", (eb) =>
          eb.selectFrom("sessions").select("id").where(due).orderBy("refresh_at").limit(limit),
        )
        // Another instance may have taken some of them meanwhile.
        .where(due)
        .returningAll()
        .execute();
      return rows.map(sessions.read);
    },
    setGrant: async (id, grant) => (await sessions.change(scope, { id }, grant)) !== null,
    withGrant: longRead(async () => {
      const rows = await db
        .selectFrom("sessions")
        .selectAll()
        .where("provider_grant", "is not", null)
        .execute();
      return rows.map(sessions.read);
    }),
    async deleteAtProvider({ issuer, subject, providerSession }) {
      const rows = await db
        .deleteFrom("sessions")
        .where("identity_id", "in", (eb) =>
          eb
            .selectFrom("identities")
            .select("id")
            .where("issuer", "=", issuer)
            .$if(subject !== null, (query) => query.where("subject", "=", subject ?? "")),
        )
        .$if(providerSession !== null, (query) => query.where("provider_session", "=", providerSession ?? ""))
        .returning("user_id")
        .execute();
      return [...new Set(rows.map((row) => row.user_id))];
    },
  };
}
