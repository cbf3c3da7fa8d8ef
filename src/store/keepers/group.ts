import type { Group, GroupKeeper } from "../../model/group.ts";
import { newReason } from "../../reason/reason.ts";
import { pageOf } from "../query/page.ts";
import { json, optional, plain, rowShape, time } from "../query/row.ts";
import { orFault, type Scope } from "../query/scope.ts";

const shape = rowShape<Group, "groups">({
  id: plain(),
  name: plain(),
  labels: optional(json()),
  createdAt: time,
});

export function buildGroupKeeper({ db, dialect }: Scope): GroupKeeper {
  const named = <T>(name: string | undefined, work: Promise<T>) =>
    orFault(dialect, work, {
      duplicate: newReason("exists", { noun: newReason("noun_group"), name: name ?? "" }),
    });

  return {
    async create(group) {
      const insert = db
        .insertInto("groups")
        .values(shape.insert({ labels: null, ...group }))
        .returningAll();
      return shape.read(await named(group.name, insert.executeTakeFirstOrThrow()));
    },
    async byId(id) {
      const row = await db.selectFrom("groups").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async hold(id) {
      const one = db.selectFrom("groups").selectAll().where("id", "=", id);
      // SQLite runs transactions one after the other, so it needs no row lock.
      const row = await (dialect.hasRowLocks ? one.forNoKeyUpdate() : one).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async list(filter, request) {
      const { ids } = filter;
      const found = db
        .selectFrom("groups")
        .$if(ids !== undefined, (query) => query.where(dialect.isAmong("id", ids ?? [])));
      return pageOf(db, found, request, (query) => query.orderBy("name"), shape.read);
    },
    async update(id, change) {
      const set = shape.update(change);
      if (Object.keys(set).length === 0) return this.byId(id);
      const update = db.updateTable("groups").set(set).where("id", "=", id).returningAll();
      const row = await named(change.name, update.executeTakeFirst());
      return row === undefined ? null : shape.read(row);
    },
    async delete(id) {
      const result = await db.deleteFrom("groups").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    members: (id) =>
      db
        .selectFrom("group_members")
        .innerJoin("users", "users.id", "group_members.user_id")
        .where("group_members.group_id", "=", id)
        .orderBy("users.username")
        .select(["users.id as userId", "users.username", "group_members.permission"])
        .execute(),
    async setMember(id, userId, permission) {
      const insert = db
        .insertInto("group_members")
        .values({ group_id: id, user_id: userId, permission })
        .onConflict((conflict) => conflict.columns(["group_id", "user_id"]).doUpdateSet({ permission }));
      await orFault(dialect, insert.execute(), {
        missing: newReason("gone_group_or_user", { id, user: userId }),
      });
    },
    async removeMember(id, userId) {
      const result = await db
        .deleteFrom("group_members")
        .where("group_id", "=", id)
        .where("user_id", "=", userId)
        .executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}
