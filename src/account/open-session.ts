import type { NewAuditEntry } from "../model/audit.ts";
import { type OperationKeepers, operation } from "../model/store.ts";
import type { NewSession, Session } from "../model/user.ts";
import { type EndedCredentials, endCredentials } from "./end-credentials.ts";

/** A user whose password was found right. */
export interface CheckedUser {
  id: number;
  passwordHash: string;
}

/** To check a password takes a while: whether it is still the user's, and stays so until the operation ends. */
export async function isStillRight({ users }: OperationKeepers, checked: CheckedUser): Promise<boolean> {
  const held = await users.hold(checked.id);
  return held !== null && !held.disabled && held.passwordHash === checked.passwordHash;
}

/** Null: the password is no longer the user's. */
export const openSession = operation(
  "openSession",
  async (
    keepers,
    { checked, session }: { checked: CheckedUser; session: NewSession },
  ): Promise<Session | null> =>
    (await isStillRight(keepers, checked)) ? keepers.sessions.create(session) : null,
);

interface NewPassword {
  checked: CheckedUser;
  passwordHash: string;
  keepTokens: boolean;
  keepSessionId: number | null;
  /** The entry that is stored with the change; its detail counts what was ended. */
  audited: NewAuditEntry;
}

/** Null: the old password is no longer the user's. */
export const changePassword = operation(
  "changePassword",
  async (
    keepers,
    { checked, passwordHash, audited, ...kept }: NewPassword,
  ): Promise<EndedCredentials | null> => {
    if (!(await isStillRight(keepers, checked))) return null;
    await keepers.users.update(checked.id, { passwordHash });
    const ended = await endCredentials(keepers, checked.id, kept);
    await keepers.audit.add({ ...audited, detail: { ...ended } });
    return ended;
  },
);
