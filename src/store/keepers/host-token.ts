import type { HostToken, HostTokenKeeper } from "../../model/host/host-token.ts";
import { newReason } from "../../reason/reason.ts";
import { json, optional, plain, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<HostToken, "host_tokens">({
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

export function buildHostTokenKeeper({ db, dialect }: Scope): HostTokenKeeper {
  return {
    async save(token) {
      const row = shape.insert(token);
      const insert = db
        .insertInto("host_tokens")
        .values(row)
        .onConflict((conflict) => conflict.columns(["user_id", "origin"]).doUpdateSet(row))
        .returningAll();
      const gone = { missing: newReason("gone_user", { id: token.userId }) };
      return shape.read(await orFault(dialect, insert.executeTakeFirstOrThrow(), gone));
    },
    async byId(id) {
      const row = await db.selectFrom("host_tokens").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async ofUser(userId) {
      const rows = await db
        .selectFrom("host_tokens")
        .selectAll()
        .where("user_id", "=", userId)
        .orderBy("origin")
        .execute();
      return rows.map(shape.read);
    },
    async all() {
      return (await db.selectFrom("host_tokens").selectAll().orderBy("id").execute()).map(shape.read);
    },
    async setCiphertext(id, ciphertext) {
      await db.updateTable("host_tokens").set({ ciphertext }).where("id", "=", id).execute();
    },
    async delete(id) {
      const result = await db.deleteFrom("host_tokens").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}
