import { sql } from "kysely";
import { includes, type Member, type Permission, type PermissionKeeper } from "../../model/permission.ts";
import { newReason } from "../../reason/reason.ts";
import { orFault, type Scope } from "../query/scope.ts";

export function buildPermissionKeeper({ db, dialect }: Scope): PermissionKeeper {
  /** Projects the user is a member of, directly and through their group. The environments of a project have its members. */
  const ofUser = (userId: number) =>
    db
      .selectFrom("project_members")
      .where("project_members.user_id", "=", userId)
      .select(["project_members.project_id", "project_members.permission"])
      .unionAll(
        db
          .selectFrom("project_members")
          .innerJoin("projects", "projects.parent_id", "project_members.project_id")
          .where("project_members.user_id", "=", userId)
          .select(["projects.id as project_id", "project_members.permission"]),
      )
      .unionAll(
        db
          .selectFrom("group_members")
          .innerJoin("projects", "projects.group_id", "group_members.group_id")
          .where("group_members.user_id", "=", userId)
          .select(["projects.id as project_id", "group_members.permission"]),
      );

  /** The project whose members a project has. */
  const memberOwner = (projectId: number) =>
    sql<number>`(select coalesce(parent_id, id) from projects where id = ${projectId})`;

  /** Members with one of these permissions, directly and through the group. */
  const usersOf = (projectId: number, permissions: Permission[]) =>
    db
      .selectFrom("project_members")
      .where("project_members.project_id", "=", memberOwner(projectId))
      .where("project_members.permission", "in", permissions)
      .select("project_members.user_id")
      .union(
        db
          .selectFrom("projects")
          .innerJoin("group_members", "group_members.group_id", "projects.group_id")
          .where("projects.id", "=", projectId)
          .where("group_members.permission", "in", permissions)
          .select("group_members.user_id"),
      );

  async function projectIds(userId: number, needed: Permission): Promise<number[]> {
    const rows = (await ofUser(userId).execute()).filter((row) => includes(row.permission, needed));
    return [...new Set(rows.map((row) => row.project_id))].sort((a, b) => a - b);
  }

  async function groupIds(userId: number, needed: Permission): Promise<number[]> {
    const rows = await db
      .selectFrom("group_members")
      .select(["group_id", "permission"])
      .where("user_id", "=", userId)
      .orderBy("group_id")
      .execute();
    return rows.filter((row) => includes(row.permission, needed)).map((row) => row.group_id);
  }

  return {
    async ofProject(userId, projectId) {
      const rows = await db
        .selectFrom("project_members")
        .where("project_members.project_id", "=", memberOwner(projectId))
        .where("project_members.user_id", "=", userId)
        .select("project_members.permission")
        .unionAll(
          db
            .selectFrom("projects")
            .innerJoin("group_members", "group_members.group_id", "projects.group_id")
            .where("projects.id", "=", projectId)
            .where("group_members.user_id", "=", userId)
            .select("group_members.permission"),
        )
        .execute();
      return strongest(rows.map((row) => row.permission));
    },
    async ofGroup(userId, groupId) {
      const row = await db
        .selectFrom("group_members")
        .select("permission")
        .where("group_id", "=", groupId)
        .where("user_id", "=", userId)
        .executeTakeFirst();
      return row?.permission ?? null;
    },
    visibleProjectIds: (userId) => projectIds(userId, "view"),
    visibleGroupIds: (userId) => groupIds(userId, "view"),
    managedProjectIds: (userId) => projectIds(userId, "manage"),
    managedGroupIds: (userId) => groupIds(userId, "manage"),
    async hasOtherManagers() {
      const managing = (table: "project_members" | "group_members") =>
        db
          .selectFrom(table)
          .innerJoin("users", "users.id", `${table}.user_id`)
          .where("permission", "=", "manage")
          .where("users.role", "<>", "admin")
          .where("users.disabled", "=", 0)
          .select("users.id")
          .limit(1)
          .executeTakeFirst();
      return (
        (await managing("project_members")) !== undefined || (await managing("group_members")) !== undefined
      );
    },
    async viewersOfProject(projectId) {
      return (await usersOf(projectId, ["view", "manage"]).execute())
        .map((row) => row.user_id)
        .sort((a, b) => a - b);
    },
    async managersOfProject(projectId) {
      const rows = await db
        .selectFrom("users")
        .select(["id", "username", "role"])
        .where("disabled", "=", 0)
        .where((eb) => eb.or([eb("role", "=", "admin"), eb("id", "in", usersOf(projectId, ["manage"]))]))
        .orderBy("username")
        .execute();
      return rows.map(({ role, ...user }) => ({ ...user, isAdmin: role === "admin" }));
    },
    async members({ noun, id }) {
      const { rows } = await sql<Member>`select users.id as "userId", users.username, members.permission
        from ${sql.table(`${noun}_members`)} as members join users on users.id = members.user_id
        where members.${sql.ref(`${noun}_id`)} = ${id} order by users.username`.execute(db);
      return rows;
    },
    async accessTo(projectId) {
      const rows = await db
        .selectFrom("users")
        .leftJoin("project_members", (join) =>
          join
            .onRef("project_members.user_id", "=", "users.id")
            .on("project_members.project_id", "=", memberOwner(projectId)),
        )
        .leftJoin("group_members", (join) =>
          join
            .onRef("group_members.user_id", "=", "users.id")
            .on("group_members.group_id", "=", (eb) =>
              eb.selectFrom("projects").select("group_id").where("id", "=", projectId),
            ),
        )
        .where((eb) =>
          eb.or([
            eb("project_members.permission", "is not", null),
            eb("group_members.permission", "is not", null),
            eb.and([eb("users.role", "=", "admin"), eb("users.disabled", "=", 0)]),
          ]),
        )
        .select([
          "users.id as userId",
          "users.username",
          "users.role",
          "users.disabled",
          "project_members.permission as asMember",
          "group_members.permission as throughGroup",
        ])
        .orderBy("users.username")
        .execute();
      return rows.map(({ role, disabled, ...user }) => {
        const isAdmin = role === "admin";
        const mayManage = isAdmin || user.asMember === "manage" || user.throughGroup === "manage";
        return { ...user, permission: mayManage ? "manage" : "view", isAdmin, isDisabled: disabled !== 0 };
      });
    },
    async setMember({ noun, id }, userId, permission) {
      const owner = sql.ref(`${noun}_id`);
      const insert = sql`insert into ${sql.table(`${noun}_members`)} (${owner}, user_id, permission)
        values (${id}, ${userId}, ${permission})
        on conflict (${owner}, user_id) do update set permission = excluded.permission`;
      await orFault(dialect, insert.execute(db), {
        missing: newReason(`gone_${noun}_or_user`, { id, user: userId }),
      });
    },
    async removeMember({ noun, id }, userId) {
      const { numAffectedRows } = await sql`delete from ${sql.table(`${noun}_members`)}
        where ${sql.ref(`${noun}_id`)} = ${id} and user_id = ${userId}`.execute(db);
      return (numAffectedRows ?? 0n) > 0n;
    },
  };
}

function strongest(held: Permission[]): Permission | null {
  if (held.some((permission) => includes(permission, "manage"))) return "manage";
  return held[0] ?? null;
}
