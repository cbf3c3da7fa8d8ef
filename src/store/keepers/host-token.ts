import type { HostToken, HostTokenKeeper } from "../../model/host/host-token.ts";
import { newReason } from "../../reason/reason.ts";
import { longRead } from "../query/keeper-call.ts";
import { json, optional, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const tokens = table<HostToken, "host_tokens">("host_tokens", {
  id: plain(),
  userId: plain(),
  kind: plain(),
  origin: plain(),
  ciphertext: plain(),
  hint: plain(),
  login: plain(),
  scopes: optional(json<string[]>()),
  expiresAt: optional(time),
  createdAt: time,
});

export function buildHostTokenKeeper(scope: Scope): HostTokenKeeper {
  return {
    save: (token) =>
      tokens.put(scope, ["userId", "origin"], token, {
        missing: newReason("gone_user", { id: token.userId }),
      }),
    byId: (id) => tokens.one(scope, { id }),
    ofUser: (userId) => tokens.all(scope, { userId }, ["origin"]),
    all: longRead(() => tokens.all(scope, {}, ["id"])),
    async setCiphertext(id, ciphertext) {
      await tokens.change(scope, { id }, { ciphertext });
    },
    delete: async (id) => (await tokens.delete(scope, { id })) > 0,
  };
}
