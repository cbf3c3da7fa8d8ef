import type { ApiToken, ApiTokenKeeper } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { longRead } from "../query/keeper-call.ts";
import { json, optional, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const tokens = table<ApiToken, "api_tokens">("api_tokens", {
  id: plain(),
  userId: plain(),
  name: plain(),
  tokenHash: plain(),
  hint: plain(),
  scopes: json(),
  createdAt: time,
  lastUsedAt: optional(time),
  expiresAt: optional(time),
});

export function buildApiTokenKeeper(scope: Scope): ApiTokenKeeper {
  return {
    create: (token) =>
      tokens.create(
        scope,
        { ...token, lastUsedAt: null },
        { missing: newReason("gone_user", { id: token.userId }) },
      ),
    byTokenHash: (tokenHash) => tokens.one(scope, { tokenHash }),
    list: longRead(({ userId }, request) => {
      const all = scope.db.selectFrom("api_tokens");
      const found = userId === undefined ? all : all.where("user_id", "=", userId);
      return tokens.page(scope, found, request, ["id desc"]);
    }),
    byId: (id) => tokens.one(scope, { id }),
    async touch(id, at) {
      await tokens.change(scope, { id }, { lastUsedAt: at });
    },
    delete: async (id) => (await tokens.delete(scope, { id })) > 0,
    deleteOfUser: (userId) => tokens.delete(scope, { userId }),
  };
}
