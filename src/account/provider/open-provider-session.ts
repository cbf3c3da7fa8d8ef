import { Fault } from "../../errors.ts";
import type { Identity } from "../../model/account/identity.ts";
import type { NewAuditEntry } from "../../model/audit.ts";
import type { Group } from "../../model/group.ts";
import { type Operation, type OperationKeepers, operation, type Store } from "../../model/store.ts";
import type { NewSession, Session, User } from "../../model/user.ts";
import { newReason } from "../../reason/reason.ts";
import { adminsLock } from "../change-user.ts";
import { type CheckedUser, isStillRight } from "../open-session.ts";
import type { Roles } from "./admission.ts";

/** The account at the provider, as it is stored with its user. */
export type Account = Pick<Identity, "issuer" | "subject" | "provider" | "host" | "login">;

interface ProviderSession {
  account: Account;
  /** What an account that nobody is linked to becomes; null: nothing. */
  unknown: { link: CheckedUser } | { create: { username: string; passwordHash: string } } | null;
  roles: Roles;
  session: Omit<NewSession, "userId" | "identityId">;
  /** Who signs in is known only here, so name and subject are filled in. */
  audited: NewAuditEntry;
}

export type OpenedSession =
  | { session: Session; user: User; isAccessChanged: boolean; missingGroups: string[] }
  /** `disabled`: the user is; `wrong`: the password is no longer the user's; `unlinked`: nobody has the account. */
  | "disabled"
  | "wrong"
  | "unlinked";

/** Opens a session for the user of an account at a provider, which is linked or created first if the caller says so. */
export const openProviderSession = operation(
  "openProviderSession",
  async (keepers, opened: ProviderSession): Promise<OpenedSession> => {
    const { account, roles, session, audited } = opened;
    const identity = await identityFor(keepers, opened);
    if (typeof identity === "string") return identity;
    const { passwordHash: _, ...user } = (await keepers.users.hold(identity.userId)) ?? missing();
    if (user.disabled) return "disabled";
    const as = { ...audited, userId: user.id, username: user.username, subject: `user ${user.username}` };
    const applied = await applyRoles(keepers, user, roles, as);
    const made = await keepers.sessions.create({ ...session, userId: user.id, identityId: identity.id });
    const { provider, login } = account;
    await keepers.audit.add({ ...as, action: "auth.login", detail: { provider, login } });
    return { session: made, ...applied };
  },
);

function missing(): never {
  throw new Error("The user of an identity is gone although the identity is there.");
}

async function identityFor(
  keepers: OperationKeepers,
  { account, unknown, audited }: ProviderSession,
): Promise<Identity | "wrong" | "unlinked"> {
  const { issuer, subject, provider, host, login } = account;
  const now = keepers.now();
  const known = await keepers.identities.bySubject(issuer, subject);
  // Somebody else has linked it, while this person typed a password.
  if (known !== null && unknown !== null && "link" in unknown && unknown.link.id !== known.userId)
    return "wrong";
  if (known !== null)
    return (await keepers.identities.update(known.id, { provider, login, lastUsedAt: now })) ?? known;
  if (unknown === null) return "unlinked";
  let userId: number;
  let username: string;
  if ("link" in unknown) {
    if (!(await isStillRight(keepers, unknown.link))) return "wrong";
    userId = unknown.link.id;
    username = (await keepers.users.byId(userId))?.username ?? "";
  } else {
    // A username does not prove who a person is: to use an existing account, its password is needed.
    if ((await keepers.users.byUsername(unknown.create.username)) !== null) return "unlinked";
    const created = await keepers.users.create({ ...unknown.create, role: "user", createdAt: now });
    userId = created.id;
    username = created.username;
    const detail = { role: "user", provider };
    await keepers.audit.add({ ...audited, action: "user.create", subject: `user ${username}`, detail });
  }
  const made = { userId, issuer, subject, provider, host, login, createdAt: now, lastUsedAt: now };
  const identity = await keepers.identities.create(made);
  const entry = { ...audited, userId, username, subject: `user ${username}` };
  await keepers.audit.add({ ...entry, action: "auth.link", detail: { provider, login } });
  return identity;
}

/** Runs an operation that applies roles: in turn with other changes of administrators, if it may take that role. */
export async function runWithRoles<Input extends { roles: Roles | null }, Result>(
  store: Pick<Store, "run">,
  applying: Operation<Input, Result>,
  input: Input,
): Promise<Result> {
  if (input.roles?.isAdmin !== false) return store.run(applying, input);
  const done = await store.run(applying, input, adminsLock);
  if (done !== "timeout") return done;
  throw new Fault("too_many", newReason("sign_in_busy"), { retryAfterSeconds: 2 });
}

/** Enough for every group of an installation; beyond it, a group that the settings name is not found. */
const maxGroups = 1000;

/** Gives a user what the provider's groups are here, and takes what they no longer are. */
export async function applyRoles(
  keepers: OperationKeepers,
  user: User,
  { isAdmin, members }: Roles,
  as: NewAuditEntry,
): Promise<{ user: User; isAccessChanged: boolean; missingGroups: string[] }> {
  const changes: NewAuditEntry[] = [];
  let after = user;
  const isDemoted = isAdmin === false && user.role === "admin";
  // The last administrator stays one, as where an administrator changes the role.
  if (
    isAdmin !== null &&
    isAdmin !== (user.role === "admin") &&
    !(isDemoted && (await isLastAdmin(keepers)))
  ) {
    const role = isAdmin ? "admin" : "user";
    after = (await keepers.users.update(user.id, { role })) ?? user;
    changes.push({ ...as, action: "user.update", detail: { role, by: "provider" } });
  }
  const groups = members.length === 0 ? [] : await allGroups(keepers);
  const missingGroups: string[] = [];
  for (const { group: name, permission } of members) {
    const group = groups.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (group === undefined) {
      missingGroups.push(name);
      continue;
    }
    const owner = { noun: "group", id: group.id } as const;
    const held = await keepers.permissions.ofGroup(user.id, group.id);
    if (held === permission) continue;
    if (permission === null) await keepers.permissions.removeMember(owner, user.id);
    else await keepers.permissions.setMember(owner, user.id, permission);
    const action = permission === null ? "group.remove-member" : "group.set-member";
    const detail = { user: user.username, permission, by: "provider" };
    changes.push({ ...as, action, subject: `group ${group.name}`, detail });
  }
  for (const entry of changes) await keepers.audit.add(entry);
  return { user: after, isAccessChanged: changes.length > 0, missingGroups };
}

async function isLastAdmin({ users }: Pick<OperationKeepers, "users">): Promise<boolean> {
  return (await users.countAdmins()) <= 1;
}

async function allGroups({ groups }: Pick<OperationKeepers, "groups">): Promise<Group[]> {
  const found: Group[] = [];
  for (let page = 1; found.length < maxGroups; page++) {
    const { items } = await groups.list({}, { page, pageSize: 200 });
    if (items.length === 0) break;
    found.push(...items);
  }
  return found;
}
