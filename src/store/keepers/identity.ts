import type { FormerLogin, Identity, IdentityKeeper } from "../../model/account/identity.ts";
import { newReason } from "../../reason/reason.ts";
import { plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const identities = table<Identity, "identities">("identities", {
  id: plain(),
  userId: plain(),
  issuer: plain(),
  subject: plain(),
  provider: plain(),
  host: plain(),
  login: plain(),
  createdAt: time,
  lastUsedAt: time,
});

const formerLogins = table<FormerLogin, "former_logins">("former_logins", {
  userId: plain(),
  host: plain(),
  login: plain(),
});

export function buildIdentityKeeper(scope: Scope): IdentityKeeper {
  const { db } = scope;

  /** What a user did under a name stays that user's, also when the name goes. */
  async function keepLogins(of: Partial<Record<"id" | "user_id", number>>, exceptId = 0): Promise<void> {
    const going = db
      .selectFrom("identities")
      .select(["user_id", "host", "login"])
      .where((eb) => eb.and(of))
      .where("id", "!=", exceptId);
    await db
      .insertInto("former_logins")
      .columns(["user_id", "host", "login"])
      .expression(going)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  return {
    create: (identity) =>
      identities.create(scope, identity, {
        duplicate: newReason("identity_linked", { login: identity.login }),
        missing: newReason("gone_user", { id: identity.userId }),
      }),
    bySubject: (issuer, subject) => identities.one(scope, { issuer, subject }),
    byId: (id) => identities.one(scope, { id }),
    ofUser: (userId) => identities.all(scope, { userId }, ["id"]),
    atHost: (host) => identities.all(scope, { host }, ["id"]),
    formerAtHost: (host) => formerLogins.all(scope, { host }, ["login"]),
    async update(id, used) {
      const before = await identities.one(scope, { id });
      if (before !== null && before.login !== used.login) await keepLogins({ id });
      return identities.change(scope, { id }, used);
    },
    async delete(id) {
      await keepLogins({ id });
      return (await identities.delete(scope, { id })) > 0;
    },
    async deleteOfUser(userId, exceptId) {
      await keepLogins({ user_id: userId }, exceptId ?? undefined);
      const result = await db
        .deleteFrom("identities")
        .where("user_id", "=", userId)
        .where("id", "!=", exceptId ?? 0)
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
