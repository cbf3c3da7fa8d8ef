import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import type { Caller } from "../model/permission.ts";
import type { Runner } from "../model/runner.ts";
import type { Keepers } from "../model/store.ts";
import type { User } from "../model/user.ts";
import { newReason } from "../reason/reason.ts";
import { hashToken, randomToken } from "../secrets.ts";

/** The prefix names the kind of a token, so that people and secret scanners recognise it. */
export const tokenPrefixes = { session: "sls_", api: "slp_", runner: "slr_" } as const;

/** 32 random bytes. A token is looked up by its hash, so it can be revoked immediately. */
export function newToken(kind: keyof typeof tokenPrefixes): string {
  return tokenPrefixes[kind] + randomToken(32);
}

/** "Last seen" is exact to the minute, which avoids a write per request. */
const touchEveryMs = 60_000;

export function buildCredentials(
  keepers: Pick<Keepers, "users" | "sessions" | "apiTokens" | "runners">,
  clock: Pick<Clock, "now">,
) {
  const isOver = (expiresAt: Date | null) => expiresAt !== null && expiresAt.getTime() <= clock.now();
  const isStale = (at: Date | null) => at === null || clock.now() - at.getTime() >= touchEveryMs;

  async function activeUser(userId: number): Promise<User> {
    const user = await keepers.users.byId(userId);
    if (!user || user.disabled) throw refused();
    return user;
  }

  async function ofSession(token: string): Promise<Caller> {
    const session = await keepers.sessions.byTokenHash(hashToken(token));
    if (!session || isOver(session.expiresAt)) throw refused();
    const user = await activeUser(session.userId);
    if (isStale(session.lastSeenAt)) await keepers.sessions.touch(session.id, new Date(clock.now()));
    return {
      userId: user.id,
      username: user.username,
      role: user.role,
      scopes: null,
      sessionId: session.id,
      expiresAt: session.expiresAt,
    };
  }

  async function ofApiToken(token: string): Promise<Caller> {
    const found = await keepers.apiTokens.byTokenHash(hashToken(token));
    if (!found || isOver(found.expiresAt)) throw refused();
    const user = await activeUser(found.userId);
    if (isStale(found.lastUsedAt)) await keepers.apiTokens.touch(found.id, new Date(clock.now()));
    return {
      userId: user.id,
      username: user.username,
      role: user.role,
      scopes: found.scopes,
      sessionId: null,
      expiresAt: found.expiresAt,
    };
  }

  return {
    /** The runner of a token, also a disabled one, which may finish its tasks. Throws 401 if the token is unknown. */
    async runnerOf(token: string | null): Promise<Runner> {
      const runner = token ? await keepers.runners.byTokenHash(hashToken(token)) : null;
      if (!runner) throw refusedRunner();
      return runner;
    },
    /** As `runnerOf`, for calls that ask for work; throws 401 for a disabled runner too. */
    async activeRunnerOf(token: string | null): Promise<Runner> {
      const runner = token ? await keepers.runners.byTokenHash(hashToken(token)) : null;
      if (!runner || runner.disabled) throw refusedRunner();
      return runner;
    },
    /** The caller of a session token or API token; throws 401 if it is unknown, expired or its user disabled. */
    async callerOf(token: string): Promise<Caller> {
      if (token.startsWith(tokenPrefixes.session)) return ofSession(token);
      if (token.startsWith(tokenPrefixes.api)) return ofApiToken(token);
      throw refused();
    },
  };
}
export type Credentials = ReturnType<typeof buildCredentials>;

/** The same text for every reason, so that it does not help guessing. */
function refused(): Fault {
  return new Fault("unauthenticated", newReason("credential_unknown"));
}

function refusedRunner(): Fault {
  return new Fault("unauthenticated", newReason("runner_token_unknown"));
}
