import type { Runner, RunnerKeeper } from "../../model/runner.ts";
import { newReason } from "../../reason/reason.ts";
import { pageOf } from "../query/page.ts";
import { flag, json, optional, plain, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<Runner, "runners">({
  id: plain(),
  name: plain(),
  labels: json(),
  tokenHash: plain(),
  local: flag,
  disabled: flag,
  version: plain(),
  concurrency: plain(),
  groupIds: json(),
  offeredLabels: optional(json()),
  alsoUnlabelled: flag,
  isolated: flag,
  isolation: plain(),
  containers: flag,
  features: json(),
  lastSeenAt: optional(time),
  createdAt: time,
});

const nothingTold = {
  offeredLabels: null,
  alsoUnlabelled: false,
  isolated: false,
  isolation: "none",
  containers: false,
  features: [],
  version: "",
  lastSeenAt: null,
} satisfies Partial<Runner>;

export function buildRunnerKeeper({ db, dialect }: Scope): RunnerKeeper {
  const named = <T>(name: string | undefined, work: Promise<T>) =>
    orFault(dialect, work, {
      duplicate: newReason("exists", { noun: newReason("noun_runner"), name: name ?? "" }),
    });

  return {
    async create(runner) {
      const insert = db
        .insertInto("runners")
        .values(shape.insert({ groupIds: [], ...runner, ...nothingTold }))
        .returningAll();
      return shape.read(await named(runner.name, insert.executeTakeFirstOrThrow()));
    },
    async byId(id) {
      const row = await db.selectFrom("runners").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async byTokenHash(tokenHash) {
      const row = await db
        .selectFrom("runners")
        .selectAll()
        .where("token_hash", "=", tokenHash)
        .executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async localOne() {
      const row = await db
        .selectFrom("runners")
        .selectAll()
        .where("local", "=", 1)
        .orderBy("id")
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async hold(id) {
      const one = db.selectFrom("runners").selectAll().where("id", "=", id);
      // SQLite runs transactions one after the other, so it needs no row lock.
      const row = await (dialect.hasRowLocks ? one.forNoKeyUpdate() : one).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async list(request) {
      return pageOf(db, db.selectFrom("runners"), request, (query) => query.orderBy("name"), shape.read);
    },
    async update(id, change) {
      const set = shape.update(change);
      if (Object.keys(set).length === 0) return this.byId(id);
      const update = db.updateTable("runners").set(set).where("id", "=", id).returningAll();
      const row = await named(change.name, update.executeTakeFirst());
      return row === undefined ? null : shape.read(row);
    },
    async markGone(id, lastSeenAt) {
      const since = lastSeenAt.getTime();
      const result = await db
        .updateTable("runners")
        .set({ gone_since: since })
        .where("id", "=", id)
        .where("last_seen_at", "=", since)
        .where((eb) => eb.or([eb("gone_since", "is", null), eb("gone_since", "!=", since)]))
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    async delete(id) {
      const result = await db.deleteFrom("runners").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}
