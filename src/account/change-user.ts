import { Fault } from "../errors.ts";
import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import { type Keepers, operation } from "../model/store.ts";
import { type Role, type User, userRevision } from "../model/user.ts";
import { newReason } from "../reason/reason.ts";
import { existing, refuseIfChanged } from "../revision.ts";
import { endCredentials } from "./end-credentials.ts";

/** Changes of the admins run one at a time: two concurrent removals could otherwise leave no admin. */
export const adminsLock = { name: "admins", waitMs: 5_000 } as const;

/** Who did it and from where; the operation adds what was done to whom. */
type Audited = Omit<NewAuditEntry, "subject" | "detail">;

interface UserChange {
  id: number;
  ifMatch?: string | undefined;
  change: { role?: Role; disabled?: boolean };
  passwordHash?: string | undefined;
  keepTokens: boolean;
  audited: Audited;
}

export const changeUser = operation(
  "changeUser",
  async (keepers, { id, ifMatch, change, passwordHash, keepTokens, audited }: UserChange): Promise<User> => {
    const before = existing(await keepers.users.byId(id), "user", id);
    refuseIfChanged(ifMatch, userRevision(before), "user");
    if (change.disabled === true || change.role === "user") await keepAnAdmin(keepers, before);
    const hasNewPassword = passwordHash !== undefined;
    const after = await keepers.users.update(id, { ...change, ...(hasNewPassword ? { passwordHash } : {}) });
    // Tokens of a disabled user are refused; they work again when the user is enabled.
    const ended =
      hasNewPassword || change.disabled
        ? await endCredentials(keepers, id, { keepTokens: keepTokens || !hasNewPassword })
        : {};
    const detail = { ...change, ...differencesOf(before, change), passwordChanged: hasNewPassword, ...ended };
    await keepers.audit.add({ ...audited, subject: `user ${before.username}`, detail });
    return existing(after, "user", id);
  },
);

export const deleteUser = operation(
  "deleteUser",
  async (keepers, { id, audited }: { id: number; audited: Audited }): Promise<void> => {
    const user = existing(await keepers.users.byId(id), "user", id);
    await keepAnAdmin(keepers, user);
    await keepers.users.delete(id);
    await keepers.audit.add({ ...audited, subject: `user ${user.username}`, detail: {} });
  },
);

async function keepAnAdmin({ users }: Pick<Keepers, "users">, user: User): Promise<void> {
  if (user.role !== "admin" || user.disabled) return;
  if ((await users.countAdmins()) <= 1) throw new Fault("conflict", newReason("last_admin"));
}
