import type { User, UserKeeper, UserWithPassword } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { longRead } from "../query/keeper-call.ts";
import { cappedCount } from "../query/page.ts";
import { flag, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const users = table<UserWithPassword, "users">("users", {
  id: plain(),
  username: plain(),
  passwordHash: plain(),
  role: plain(),
  disabled: flag,
  language: plain(),
  createdAt: time,
});

/** User names are unique regardless of case, so that `Ann` cannot impersonate `ann`. */
export function buildUserKeeper(scope: Scope): UserKeeper {
  const { db } = scope;
  return {
    create: async (user) =>
      withoutPassword(
        await users.create(
          scope,
          { ...user, disabled: false, language: null },
          {
            duplicate: newReason("exists", { noun: newReason("noun_user"), name: user.username }),
            unique: "username",
          },
        ),
      ),
    byId: async (id) => withoutPassword(await users.one(scope, { id })),
    async byUsername(username) {
      const row = await db
        .selectFrom("users")
        .selectAll()
        .where((eb) => eb(eb.fn("lower", ["username"]), "=", username.toLowerCase()))
        .executeTakeFirst();
      return row === undefined ? null : users.read(row);
    },
    hold: (id) => users.hold(scope, { id }),
    list: longRead(async (request) => {
      const page = await users.page(scope, db.selectFrom("users"), request, ["username"]);
      return { ...page, items: page.items.map(withoutPassword) };
    }),
    update: async (id, change) => withoutPassword(await users.change(scope, { id }, change)),
    delete: async (id) => (await users.delete(scope, { id })) > 0,
    count: () => cappedCount(db, db.selectFrom("users")),
    countAdmins: () =>
      cappedCount(db, db.selectFrom("users").where("role", "=", "admin").where("disabled", "=", 0)),
  };
}

function withoutPassword<U extends UserWithPassword | null>(user: U): User | (U & null) {
  if (user === null) return user;
  const { passwordHash: _, ...rest } = user;
  return rest;
}
