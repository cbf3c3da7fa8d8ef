import type { ApiToken, ApiTokenKeeper } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { pageOf } from "../query/page.ts";
import { json, optional, plain, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<ApiToken, "api_tokens">({
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

export function buildApiTokenKeeper({ db, dialect }: Scope): ApiTokenKeeper {
  return {
    async create(token) {
      const insert = db
        .insertInto("api_tokens")
        .values(shape.insert({ ...token, lastUsedAt: null }))
        .returningAll();
      const gone = { missing: newReason("gone_user", { id: token.userId }) };
      return shape.read(await orFault(dialect, insert.executeTakeFirstOrThrow(), gone));
    },
    async byTokenHash(tokenHash) {
      const row = await db
        .selectFrom("api_tokens")
        .selectAll()
        .where("token_hash", "=", tokenHash)
        .executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async list(filter, request) {
      const found = db
        .selectFrom("api_tokens")
        .$if(filter.userId !== undefined, (query) => query.where("user_id", "=", filter.userId ?? 0));
      return pageOf(db, found, request, (query) => query.orderBy("id", "desc"), shape.read);
    },
    async byId(id) {
      const row = await db.selectFrom("api_tokens").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async touch(id, at) {
      await db.updateTable("api_tokens").set({ last_used_at: at.getTime() }).where("id", "=", id).execute();
    },
    async delete(id) {
      const result = await db.deleteFrom("api_tokens").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    async deleteOfUser(userId) {
      const result = await db.deleteFrom("api_tokens").where("user_id", "=", userId).executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
