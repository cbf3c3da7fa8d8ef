import type { Insertable } from "kysely";
import type { PushCode, PushCodeKeeper } from "../../model/push-code.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { flag, json, optional, plain, rowShape, time } from "../query/row.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<PushCode, "push_codes">({
  codeHash: plain(),
  userId: plain(),
  console: flag,
  channels: optional(json()),
  expiresAt: time,
  endsAt: optional(time),
});

const insertCode = fixedQuery(shape.columns, (db, row: Insertable<Schema["push_codes"]>) =>
  db.insertInto("push_codes").values(row),
);
const takeCode = fixedQuery(["code_hash"], (db, { code_hash }: { code_hash: string }) =>
  db.deleteFrom("push_codes").where("code_hash", "=", code_hash).returningAll(),
);

export function buildPushCodeKeeper(scope: Scope): PushCodeKeeper {
  const { db } = scope;
  return {
    async create(code) {
      await insertCode(scope, shape.insert(code));
    },
    async consume(codeHash, now) {
      const [row] = await takeCode(scope, { code_hash: codeHash });
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
