import type { Identity, IdentityKeeper } from "../../model/account/identity.ts";
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

export function buildIdentityKeeper(scope: Scope): IdentityKeeper {
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
    update: (id, used) => identities.change(scope, { id }, used),
    delete: async (id) => (await identities.delete(scope, { id })) > 0,
    async deleteOfUser(userId, exceptId) {
      const result = await scope.db
        .deleteFrom("identities")
        .where("user_id", "=", userId)
        .$if(exceptId !== null, (query) => query.where("id", "!=", exceptId ?? 0))
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
