import type { Insertable } from "kysely";
import type { PushCode, PushCodeKeeper } from "../../model/push-code.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { flag, json, optional, plain, time } from "../query/row.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const codes = table<PushCode, "push_codes">("push_codes", {
  codeHash: plain(),
  userId: plain(),
  console: flag,
  channels: optional(json()),
  expiresAt: time,
  endsAt: optional(time),
});

const insertCode = fixedQuery(codes.columns, (db, row: Insertable<Schema["push_codes"]>) =>
  db.insertInto("push_codes").values(row),
);
const takeCode = fixedQuery(["code_hash"], (db, { code_hash }: { code_hash: string }) =>
  db.deleteFrom("push_codes").where("code_hash", "=", code_hash).returningAll(),
);

export function buildPushCodeKeeper(scope: Scope): PushCodeKeeper {
  const { db } = scope;
  return {
    async create(code) {
      await insertCode(scope, codes.insert(code));
    },
    async consume(codeHash, now) {
      const [row] = await takeCode(scope, { code_hash: codeHash });
      if (row === undefined) return null;
      const code = codes.read(row);
      return code.expiresAt > now ? code : null;
    },
    deleteOfUser: (userId) => codes.delete(scope, { userId }),
    async deleteExpired(now) {
      const result = await db
        .deleteFrom("push_codes")
        .where("expires_at", "<=", now.getTime())
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
