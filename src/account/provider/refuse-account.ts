import type { NewAuditEntry } from "../../model/audit.ts";
import { operation } from "../../model/store.ts";
import type { Roles } from "./admission.ts";
import { type Account, applyRoles } from "./open-provider-session.ts";

interface RefusedAccount {
  account: Pick<Account, "issuer" | "subject">;
  /** Whose tokens the provider refuses; null: the person is refused, so every session of the account ends. */
  session: number | null;
  /** What the provider's rules make of a person in no group. */
  roles: Roles;
  /** The operation fills in whose account it is. */
  audited: NewAuditEntry;
}

/**
 * Ends what a provider no longer confirms: sessions, and the roles that it decides, which a password or an API token
 * would otherwise keep. Returns the user; null: nobody is linked to the account.
 */
export const refuseAccount = operation(
  "refuseAccount",
  async (keepers, { account, session, roles, audited }: RefusedAccount): Promise<number | null> => {
    const identity = await keepers.identities.bySubject(account.issuer, account.subject);
    const held = identity && (await keepers.users.hold(identity.userId));
    if (!held) return null;
    const { passwordHash: _, ...user } = held;
    const all = await keepers.sessions.listOfUser(user.id);
    const own = all.filter(({ identityId }) => identityId === identity.id);
    const ended = own.filter(({ id }) => session === null || id === session);
    for (const { id } of ended) await keepers.sessions.delete(id);
    const as = { ...audited, userId: user.id, username: user.username, subject: `user ${user.username}` };
    if (ended.length > 0) await keepers.audit.add(as);
    // Some providers keep only the tokens of the newest sign-in: what they say about that one decides.
    const isAskedAgain = own.some((each) => !ended.includes(each) && each.providerGrant !== null);
    if (!isAskedAgain) await applyRoles(keepers, user, roles, as);
    return user.id;
  },
);
