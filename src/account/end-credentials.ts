import type { Keepers } from "../model/store.ts";

/** The number of credentials that a new password ended. */
export interface EndedCredentials {
  endedSessions: number;
  endedTokens: number;
  endedIdentities: number;
}

/**
 * A new password ends all sessions. It also revokes all API tokens and unlinks all accounts at providers, unless they are
 * kept, because an attacker may have added them with the old password. The account of the session that asks stays with it.
 * Runs in the transaction that changes the password.
 */
export async function endCredentials(
  keepers: Pick<Keepers, "sessions" | "apiTokens" | "identities">,
  userId: number,
  { keepTokens, keepSessionId = null }: { keepTokens: boolean; keepSessionId?: number | null },
): Promise<EndedCredentials> {
  const asking = (await keepers.sessions.listOfUser(userId)).find(({ id }) => id === keepSessionId);
  return {
    endedSessions: await keepers.sessions.deleteOfUser(userId, keepSessionId ?? undefined),
    endedTokens: keepTokens ? 0 : await keepers.apiTokens.deleteOfUser(userId),
    endedIdentities: keepTokens
      ? 0
      : await keepers.identities.deleteOfUser(userId, asking?.identityId ?? null),
  };
}
