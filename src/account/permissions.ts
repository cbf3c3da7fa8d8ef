import { Fault } from "../errors.ts";
import type { Group } from "../model/group.ts";
import { type Caller, includes, type Permission } from "../model/permission.ts";
import type { Project } from "../model/project.ts";
import type { Keepers } from "../model/store.ts";
import type { TokenScope } from "../model/user.ts";
import { newReason } from "../reason/reason.ts";

/** What an endpoint requires of its caller. "manager": the right to manage any project or group. */
export type Needed =
  | "signed-in"
  | "session"
  | "manager"
  | "admin"
  | { project: Permission }
  | { group: Permission };

/** Whether the caller may do what only administrators may: a token needs the scope too. */
export function actsAsAdmin(caller: Caller): boolean {
  return caller.role === "admin" && hasScope(caller, "admin");
}

/** `admin` includes every scope, `write` includes `read`; a session has them all. */
export function hasScope(caller: Caller, scope: TokenScope): boolean {
  if (caller.scopes === null || caller.scopes.includes("admin")) return true;
  return caller.scopes.includes(scope) || (scope === "read" && caller.scopes.includes("write"));
}

export function buildPermissions(keepers: Pick<Keepers, "permissions" | "projects" | "groups">) {
  const heldOf = {
    project: (caller: Caller, id: number) => keepers.permissions.ofProject(caller.userId, id),
    group: (caller: Caller, id: number) => keepers.permissions.ofGroup(caller.userId, id),
  };
  const managedIdsOf = {
    project: (userId: number) => keepers.permissions.managedProjectIds(userId),
    group: (userId: number) => keepers.permissions.managedGroupIds(userId),
  };

  async function authorizeOne<T>(
    noun: "project" | "group",
    caller: Caller,
    permission: Permission,
    id: number,
    found: T | null,
  ): Promise<T> {
    const held = caller.role === "admin" ? "manage" : await heldOf[noun](caller, id);
    const named = { noun: newReason(`noun_${noun}`) };
    if (!found || held === null)
      throw new Fault(
        "not_found",
        id === 0 ? newReason("none_such", named) : newReason("none_ask", { ...named, id }),
      );
    if (!includes(held, permission)) throw new Fault("forbidden", newReason("may_see_only", named));
    return found;
  }

  async function managesGroup(caller: Caller): Promise<boolean> {
    if (caller.role === "admin") return (await keepers.groups.list({}, { page: 1, pageSize: 1 })).total > 0;
    return (await managedIdsOf.group(caller.userId)).length > 0;
  }

  async function managesAny(caller: Caller): Promise<boolean> {
    if (caller.role === "admin" || (await managesGroup(caller))) return true;
    return (await managedIdsOf.project(caller.userId)).length > 0;
  }

  async function authorizeProject(caller: Caller, permission: Permission, id: number): Promise<Project> {
    return authorizeOne("project", caller, permission, id, await keepers.projects.byId(id));
  }

  return {
    /**
     * Throws 401, 403, or 404 for a project or group that the caller may not see. Returns the project or group with this
     * `id`, so that the endpoint does not read it again.
     */
    async authorize(
      caller: Caller | null,
      needed: Needed,
      scope: TokenScope,
      id: number = 0,
    ): Promise<{ caller: Caller; project?: Project; group?: Group }> {
      if (!caller) throw new Fault("unauthenticated", newReason("sign_in_or_token"));
      if (needed === "session" && caller.sessionId === null)
        throw new Fault("forbidden", newReason("session_only"));
      if (needed === "admin" && caller.role !== "admin")
        throw new Fault("forbidden", newReason("admins_only"));
      if (needed === "manager" && !(await managesAny(caller)))
        throw new Fault("forbidden", newReason("managers_any"));
      if (!hasScope(caller, scope)) throw new Fault("forbidden", newReason("scope_missing", { scope }));
      if (typeof needed === "string") return { caller };
      if ("project" in needed) return { caller, project: await authorizeProject(caller, needed.project, id) };
      const group = await keepers.groups.byId(id);
      return { caller, group: await authorizeOne("group", caller, needed.group, id, group) };
    },
    /** As `authorize`, for the project of a task or delivery that the endpoint has read. */
    authorizeProject,
    /** Projects that lists may show; undefined: all. */
    async visibleProjectIds(caller: Caller): Promise<number[] | undefined> {
      if (caller.role === "admin") return undefined;
      return keepers.permissions.visibleProjectIds(caller.userId);
    },
    async visibleGroupIds(caller: Caller): Promise<number[] | undefined> {
      if (caller.role === "admin") return undefined;
      return keepers.permissions.visibleGroupIds(caller.userId);
    },
    /** Whether the caller may manage any project or group. */
    managesAny,
    /** Whether there is a group that the caller may manage. */
    managesGroup,
    /** Admins add projects anywhere, managers of a group in their groups. */
    async mayAddProject(caller: Caller): Promise<boolean> {
      return caller.role === "admin" || managesGroup(caller);
    },
    /** Returns a function that maps the id of a visible project or group to the caller's permission. */
    async permissionsOn(noun: "project" | "group", caller: Caller): Promise<(id: number) => Permission> {
      if (caller.role === "admin") return () => "manage";
      const managed = new Set(await managedIdsOf[noun](caller.userId));
      return (id) => (managed.has(id) ? "manage" : "view");
    },
  };
}
export type Permissions = ReturnType<typeof buildPermissions>;
