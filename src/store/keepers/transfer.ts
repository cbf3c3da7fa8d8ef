import type { Transfer, TransferKeeper } from "../../model/service/transfer.ts";
import { flag, plain, reasonField, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const transfers = table<Transfer, "transfers">("transfers", {
  key: plain(),
  kind: plain(),
  projectId: plain(),
  taskId: plain(),
  attempt: plain(),
  fromRunnerId: plain(),
  toRunnerId: plain(),
  root: plain(),
  forTaskId: plain(),
  forAttempt: plain(),
  state: plain(),
  parts: plain(),
  bytes: plain(),
  fault: reasonField,
  isFinal: flag,
  createdAt: time,
  movedAt: time,
});

export function buildTransferKeeper(scope: Scope): TransferKeeper {
  const { db } = scope;
  return {
    async add(transfer) {
      await transfers.create(scope, transfer);
    },
    byKey: (key) => transfers.one(scope, { key }),
    ofTask: (forTaskId, forAttempt) => transfers.all(scope, { forTaskId, forAttempt }, ["createdAt"]),
    async take(runnerId, now) {
      const rows = await db
        .updateTable("transfers")
        .set({ state: "sending", moved_at: now.getTime() })
        .where("from_runner_id", "=", runnerId)
        .where("state", "=", "wanted")
        .returningAll()
        .execute();
      return rows.map(transfers.read);
    },
    async change(key, whileIn, set) {
      const row = await db
        .updateTable("transfers")
        .set(transfers.update(set) as never)
        .where("key", "=", key)
        .where("state", "in", [...whileIn])
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : transfers.read(row);
    },
    async totalBytes() {
      const sum = await db
        .selectFrom("transfers")
        .select((eb) => eb.fn.sum<number>("bytes").as("bytes"))
        .executeTakeFirstOrThrow();
      return Number(sum.bytes ?? 0);
    },
    all: () => transfers.all(scope, {}, ["createdAt"]),
    async delete(key) {
      await transfers.delete(scope, { key });
    },
  };
}
