import type { User, UserKeeper, UserWithPassword } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { cappedCount, pageOf } from "../query/page.ts";
import { flag, plain, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<UserWithPassword, "users">({
  id: plain(),
  username: plain(),
  passwordHash: plain(),
  role: plain(),
  disabled: flag,
  language: plain(),
  createdAt: time,
});

const selectUser = fixedQuery(["id"], (db, { id }: { id: number }) =>
  db.selectFrom("users").selectAll().where("id", "=", id),
);

/** User names are unique regardless of case, so that `Ann` cannot impersonate `ann`. */
export function buildUserKeeper(scope: Scope): UserKeeper {
  const { db, dialect } = scope;
  const read = (row: object): User => {
    const { passwordHash: _, ...user } = shape.read(row);
    return user;
  };
  return {
    async create(user) {
      const row = await orFault(
        dialect,
        db
          .insertInto("users")
          .values(shape.insert({ ...user, disabled: false, language: null }))
          .returningAll()
          .executeTakeFirstOrThrow(),
        { duplicate: newReason("exists", { noun: newReason("noun_user"), name: user.username }) },
      );
      return read(row);
    },
    async byId(id) {
      const [row] = await selectUser(scope, { id });
      return row === undefined ? null : read(row);
    },
    async byUsername(username) {
      const row = await db
        .selectFrom("users")
        .selectAll()
        .where((eb) => eb(eb.fn("lower", ["username"]), "=", username.toLowerCase()))
        .executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async hold(id) {
      const one = db.selectFrom("users").selectAll().where("id", "=", id);
      // SQLite runs transactions one after the other, so it needs no row lock.
      const row = await (dialect.hasRowLocks ? one.forNoKeyUpdate() : one).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async list(request) {
      return pageOf(db, db.selectFrom("users"), request, (query) => query.orderBy("username"), read);
    },
    async update(id, change) {
      const set = shape.update(change);
      if (Object.keys(set).length === 0) return this.byId(id);
      const row = await db
        .updateTable("users")
        .set(set)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : read(row);
    },
    async delete(id) {
      const result = await db.deleteFrom("users").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    count: () => cappedCount(db, db.selectFrom("users")),
    countAdmins: () =>
      cappedCount(db, db.selectFrom("users").where("role", "=", "admin").where("disabled", "=", 0)),
  };
}
