import { z } from "zod";
import type { Role, TokenScope } from "./user.ts";

/** What a user may do with a project, directly or through its group. */
export const permission = z
  .enum(["view", "manage"])
  .meta({ description: "`manage` includes `view`.", example: "view" });
export type Permission = z.infer<typeof permission>;

/** A project or a group: both have members. */
export interface MemberOwner {
  noun: "project" | "group";
  id: number;
}

export const memberSchema = z.object({ userId: z.number().int(), username: z.string(), permission });
export type Member = z.infer<typeof memberSchema>;

/** A user who has access to a project, and why. */
export const accessSchema = z.object({
  userId: z.number().int(),
  username: z.string(),
  permission: permission.meta({ description: "The strongest permission of the reasons below." }),
  isAdmin: z.boolean().meta({ description: "Administrators may manage every project." }),
  isDisabled: z.boolean().meta({ description: "A disabled user cannot sign in." }),
  asMember: permission.nullable().meta({ description: "Permission as a member of the project." }),
  throughGroup: permission.nullable().meta({ description: "Permission as a member of its group." }),
});
export type Access = z.infer<typeof accessSchema>;

/** A user who may manage a project. */
export interface Manager {
  id: number;
  username: string;
  isAdmin: boolean;
}

export interface PermissionKeeper {
  /** The stronger of the project's own row and its group's. */
  ofProject(userId: number, projectId: number): Promise<Permission | null>;
  ofGroup(userId: number, groupId: number): Promise<Permission | null>;
  /** Ids of all projects that the user may view. */
  visibleProjectIds(userId: number): Promise<number[]>;
  visibleGroupIds(userId: number): Promise<number[]>;
  /** Ids of the projects that the user may manage. */
  managedProjectIds(userId: number): Promise<number[]>;
  managedGroupIds(userId: number): Promise<number[]>;
  /** Whether any user who is not an admin may manage a project or a group. */
  hasOtherManagers(): Promise<boolean>;
  /** Ids of all users who may view the project without being admin. */
  viewersOfProject(projectId: number): Promise<number[]>;
  /** All enabled users who may manage the project, administrators included, by name. */
  managersOfProject(projectId: number): Promise<Manager[]>;
  members(owner: MemberOwner): Promise<Member[]>;
  /** Everybody who has access to the project: its members, those of its group, and the administrators, by name. */
  accessTo(projectId: number): Promise<Access[]>;
  setMember(owner: MemberOwner, userId: number, permission: Permission): Promise<void>;
  removeMember(owner: MemberOwner, userId: number): Promise<boolean>;
}

export function includes(held: Permission | null, needed: Permission): boolean {
  return held === "manage" || held === needed;
}

/** The user of a request, authenticated by a session or by an API token with fewer scopes. */
export interface Caller {
  userId: number;
  username: string;
  role: Role;
  /** Null for a session, which has all rights of the user. */
  scopes: TokenScope[] | null;
  sessionId: number | null;
  /** When the session or token ends by itself; null: never. */
  expiresAt: Date | null;
}
