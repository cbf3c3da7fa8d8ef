import type { Keepers } from "../model/store.ts";

/** The number of credentials that a new password ended. */
export interface EndedCredentials {
  endedSessions: number;
  endedTokens: number;
}

/**
 * A new password ends all sessions, and revokes all API tokens unless they are kept, because an attacker may have created
 * them with the old password. Runs in the transaction that changes the password.
 */
export async function endCredentials(
  keepers: Pick<Keepers, "sessions" | "apiTokens">,
  userId: number,
  { keepTokens, keepSessionId = null }: { keepTokens: boolean; keepSessionId?: number | null },
): Promise<EndedCredentials> {
  return {
    endedSessions: await keepers.sessions.deleteOfUser(userId, keepSessionId ?? undefined),
    endedTokens: keepTokens ? 0 : await keepers.apiTokens.deleteOfUser(userId),
  };
}
