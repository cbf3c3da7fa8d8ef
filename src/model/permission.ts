import type { Role, TokenScope } from "./user.ts";

/** What a user may do with a project, directly or through its group. `manage` includes `view`. */
export type Permission = "view" | "manage";

export interface PermissionRow {
  userId: number;
  username: string;
  permission: Permission;
}

export interface PermissionKeeper {
  /** The stronger of the project's own row and its group's. */
  ofProject(userId: number, projectId: number): Promise<Permission | null>;
  ofGroup(userId: number, groupId: number): Promise<Permission | null>;
  /** Ids of all projects that the user may view. */
  visibleProjectIds(userId: number): Promise<number[]>;
  visibleGroupIds(userId: number): Promise<number[]>;
  /** Of those, the ones that the user may manage. */
  managedProjectIds(userId: number): Promise<number[]>;
  managedGroupIds(userId: number): Promise<number[]>;
  /** Whether a user who is not an admin may manage a project, or a group and therefore add one. */
  hasOtherManagers(): Promise<boolean>;
  /** Ids of all users who may view the project without being admin. */
  viewersOfProject(projectId: number): Promise<number[]>;
  membersOfProject(projectId: number): Promise<PermissionRow[]>;
  setProjectMember(projectId: number, userId: number, permission: Permission): Promise<void>;
  removeProjectMember(projectId: number, userId: number): Promise<boolean>;
}

export function includes(held: Permission | null, needed: Permission): boolean {
  return held === "manage" || held === needed;
}

/** Who is asking: a user, through a session or a token with narrower scopes. */
export interface Caller {
  userId: number;
  username: string;
  role: Role;
  /** Null for a session: all that the user may do. */
  scopes: TokenScope[] | null;
  sessionId: number | null;
  /** When the session or token ends by itself; null: never. */
  expiresAt: Date | null;
}
