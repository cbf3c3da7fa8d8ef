import type { PushCode, PushCodeKeeper } from "../../model/push-code.ts";
import { flag, json, optional, plain, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<PushCode, "push_codes">({
  codeHash: plain(),
  userId: plain(),
  console: flag,
  channels: optional(json()),
  expiresAt: time,
  endsAt: optional(time),
});

export function buildPushCodeKeeper({ db }: Scope): PushCodeKeeper {
  return {
    async create(code) {
      await db.insertInto("push_codes").values(shape.insert(code)).execute();
    },
    async consume(codeHash, now) {
      const row = await db
        .deleteFrom("push_codes")
        .where("code_hash", "=", codeHash)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) return null;
      const code = shape.read(row);
      return code.expiresAt > now ? code : null;
    },
    async deleteOfUser(userId) {
      const result = await db.deleteFrom("push_codes").where("user_id", "=", userId).executeTakeFirst();
      return Number(result.numDeletedRows);
    },
    async deleteExpired(now) {
      const result = await db
        .deleteFrom("push_codes")
        .where("expires_at", "<=", now.getTime())
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
