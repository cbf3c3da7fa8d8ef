import type { Keepers } from "../model/store.ts";

/** What ended with a password. */
export interface EndedCredentials {
  endedSessions: number;
  endedTokens: number;
}

/**
 * A new password ends what the old one opened, because a thief may have used it: sessions, and API tokens unless they
 * are kept on purpose. Runs in the transaction that changes the password.
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
