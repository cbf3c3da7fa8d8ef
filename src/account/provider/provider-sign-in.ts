import type { Clock } from "../../clock.ts";
import type { SignInProvider } from "../../config/sign-in-provider.ts";
import { Fault } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import type { FailedAttemptKeeper } from "../../model/failed-attempt.ts";
import { sealedPurpose } from "../../model/sealed.ts";
import type { Store } from "../../model/store.ts";
import type { NewSession, Session, User } from "../../model/user.ts";
import { newReason, renderReason } from "../../reason/reason.ts";
import { hashToken, randomToken, type Secrets } from "../../secrets.ts";
import { buildAttemptLimit } from "../attempt-limit.ts";
import type { ConsoleAccess } from "../console-access.ts";
import { buildGate } from "../costly-work-limit.ts";
import { newToken } from "../credential.ts";
import type { Passwords } from "../password.ts";
import type { SignIn } from "../sign-in.ts";
import { refuseOutsider, rolesOf } from "./admission.ts";
import { type Account, openProviderSession, runWithRoles } from "./open-provider-session.ts";
import type { Grant, Person } from "./person.ts";
import { buildProviderClient, type Challenge, type ProviderClient } from "./provider-client.ts";
import { refuseAccount } from "./refuse-account.ts";

/** A person has this long for the provider's pages, and for the password of an account to link. */
export const signInMs = 10 * 60_000;

const windowMs = 5 * 60_000;
const maxKeys = 10_000;
/** As for passwords: the browser of a person comes back once, a machine that guesses often. */
const perAddress = { name: "provider address", attempts: 20, windowMs, maxKeys };
/** Every way back is taken once. */
const perState = { name: "provider state", attempts: 1, windowMs: signInMs, maxKeys };

/** Between the way to the provider and the way back, in a cookie of the browser that went. */
interface Begun {
  provider: string;
  challenge: Challenge;
  returnTo: string;
  isLink: boolean;
  until: number;
}

/** A person who came back and is linked to nobody, in a cookie until the password is given. */
interface Waiting {
  account: Account;
  /** The groups that `roles` names, of those the person has. */
  groups: string[];
  /** The tokens of the provider are too large for a cookie, so the session is not asked about and ends earlier. */
  providerSession: string | null;
  returnTo: string;
  until: number;
}

export interface Visit {
  remoteIp: string;
  userAgent: string;
  limitKey: string;
}

export type Entered = { returnTo: string } & (
  | { token: string; session: Session; user: User; isAccessChanged: boolean }
  /** For a cookie, until a password links the account. */
  | { waiting: string; login: string; title: string }
);

export interface ProviderSignInOptions {
  providers: readonly SignInProvider[];
  store: Store;
  secrets: Secrets;
  passwords: Passwords;
  signIn: Pick<SignIn, "check">;
  consoleAccess: Pick<ConsoleAccess, "sessionEnded">;
  attempts: FailedAttemptKeeper | null;
  clock: Clock;
  log: Logger;
  /** Address of the console, without a trailing slash. */
  consoleUrl: () => string;
  sessionMs: number;
  refreshMs: number;
}

const purposes = { begun: "sign-in begun", waiting: "sign-in waiting" } as const;

/** Signing in with an account of another program. */
export function buildProviderSignIn(options: ProviderSignInOptions) {
  const { providers, store, secrets, passwords, signIn, attempts, clock, log } = options;
  const { consoleAccess, consoleUrl, sessionMs, refreshMs } = options;
  const redirectOf = (name: string) => `${consoleUrl()}/sign-in/${name}`;
  const clients = new Map<string, ProviderClient>(
    providers.map((provider) => [
      provider.name,
      buildProviderClient(provider, clock, () => redirectOf(provider.name)),
    ]),
  );
  const byAddress = buildAttemptLimit(perAddress, clock, attempts);
  const byState = buildAttemptLimit(perState, clock, attempts);
  const talk = buildGate({ atOnce: 8, waiting: 64 });

  function clientOf(name: string): ProviderClient {
    const client = clients.get(name);
    if (client === undefined) throw new Fault("not_found", newReason("provider_unknown", { name }));
    return client;
  }

  function seal(purpose: string, value: object): string {
    return secrets.seal(purpose, JSON.stringify({ ...value, until: clock.now() + signInMs }));
  }

  /** Throws if it is of another purpose, of another key or too old. */
  function open<T extends { until: number }>(purpose: string, sealed: string | null): T {
    const value = sealed === null ? null : (opened(purpose, sealed) as T | null);
    if (value === null || value.until <= clock.now()) throw expired();
    return value;
  }

  function opened(purpose: string, sealed: string): unknown {
    try {
      return parseJson(secrets.open(purpose, sealed));
    } catch {
      return null;
    }
  }

  async function limited(limitKey: string): Promise<void> {
    const seconds = await byAddress.take(limitKey);
    if (seconds > 0)
      throw new Fault("too_many", newReason("sign_in_often", { seconds }), { retryAfterSeconds: seconds });
  }

  function sessionOf(visit: Visit, grant: Grant | null, providerSession: string | null) {
    const now = clock.now();
    const token = newToken("session");
    const tokenHash = hashToken(token);
    const canAsk = grant !== null && canAskAgain(grant, now + refreshMs);
    const session: Omit<NewSession, "userId" | "identityId"> = {
      tokenHash,
      userAgent: visit.userAgent.slice(0, 200),
      remoteIp: visit.remoteIp,
      createdAt: new Date(now),
      lastSeenAt: new Date(now),
      // If the provider cannot be asked, the person is sent to it again.
      expiresAt: new Date(now + (canAsk ? sessionMs : Math.min(sessionMs, refreshMs))),
      providerSession,
      ...(canAsk
        ? {
            refreshAt: new Date(now + refreshMs),
            providerGrant: secrets.seal(sealedPurpose.providerGrant(tokenHash), JSON.stringify(grant)),
          }
        : {}),
    };
    return { token, session };
  }

  /** Throws if the settings do not let this person in, and ends what an earlier sign-in gave. */
  async function admit(provider: SignInProvider, person: Person, visit: Visit): Promise<void> {
    try {
      refuseOutsider(provider, person);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const detail = { reason: renderReason(error.reason) };
      const userId = await runWithRoles(store, refuseAccount, {
        account: person,
        session: null,
        roles: rolesOf(provider, []),
        audited: { ...entryOf(visit), action: "auth.end-session", detail },
      });
      if (userId !== null) consoleAccess.sessionEnded(userId);
      throw error;
    }
  }

  /** Who signs in is not known before the session is open, so the operation names the user. */
  const entryOf = ({ remoteIp }: Visit) => ({
    ...{ at: new Date(clock.now()), userId: null, username: "", action: "auth.login" },
    ...{ projectId: null, subject: "", detail: {}, remoteIp },
  });

  function accountOf({ provider }: ProviderClient, { issuer, subject, login }: Person): Account {
    const host = new URL(provider.address).hostname;
    return { issuer, subject, login: login.slice(0, 200), provider: provider.name, host };
  }

  function warnOfMissing(provider: string, missingGroups: readonly string[]): void {
    if (missingGroups.length > 0)
      log.warn({ provider, missingGroups }, "auth.providers gives roles in groups that do not exist");
  }

  return {
    clientOf,
    /** Whether there is any. */
    isConfigured: providers.length > 0,
    list: () => providers.map(({ name, title, type }) => ({ name, title, type })),
    /** Where the browser goes, and what it keeps until it comes back. */
    async begin(
      name: string,
      { returnTo, isLink, origin }: { returnTo: string; isLink: boolean; origin: string | null },
    ): Promise<{ address: string; begun: string }> {
      const client = clientOf(name);
      const own = new URL(consoleUrl()).origin;
      // The browser comes back to the address of the settings, where a cookie of another one is not sent.
      if (origin !== null && origin !== own)
        throw new Fault("conflict", newReason("provider_other_address", { address: own }));
      const { address, challenge } = await talk(() => client.begin());
      return { address, begun: seal(purposes.begun, { provider: name, challenge, returnTo, isLink }) };
    },
    /** The browser is back. Opens a session, or asks for the password of the user that the account is to be linked to. */
    async finish(
      name: string,
      { query, begun, visit }: { query: string; begun: string | null; visit: Visit },
    ): Promise<Entered> {
      const client = clientOf(name);
      const { provider } = client;
      await limited(visit.limitKey);
      const { challenge, returnTo, isLink, ...went } = open<Begun>(purposes.begun, begun);
      // The answer of one provider must not be taken for that of another, nor that of an earlier page for this one.
      const isOther = went.provider !== name || new URLSearchParams(query).get("state") !== challenge.state;
      if (isOther) throw expired();
      if ((await byState.take(challenge.state)) > 0) throw expired();
      const { person, grant } = await talk(() => client.finish(query, challenge));
      await admit(provider, person, visit);
      const account = accountOf(client, person);
      const { token, session } = sessionOf(visit, grant, person.providerSession);
      const create = provider.newAccounts && !isLink ? usernameOf(person.login) : null;
      const made = await runWithRoles(store, openProviderSession, {
        account,
        unknown:
          create === null
            ? null
            : { create: { username: create, passwordHash: await passwords.hash(randomToken(32)) } },
        roles: rolesOf(provider, person.groups ?? []),
        session,
        audited: entryOf(visit),
      });
      await byAddress.giveBack(visit.limitKey);
      if (made === "disabled")
        throw new Fault("forbidden", newReason("provider_disabled", { login: account.login }));
      if (typeof made === "string") {
        const named = new Set(provider.roles.map(({ group }) => group.toLowerCase()));
        const groups = (person.groups ?? []).filter((group) => named.has(group.toLowerCase()));
        const { providerSession } = person;
        const waiting = seal(purposes.waiting, { account, groups, providerSession, returnTo });
        return { waiting, login: account.login, title: provider.title, returnTo };
      }
      warnOfMissing(name, made.missingGroups);
      return { token, ...made, returnTo };
    },
    /** Links the account that waits to the user of this password, and opens a session. */
    async link(
      waiting: string | null,
      { username, password, visit }: { username: string; password: string; visit: Visit },
    ): Promise<Entered & { token: string }> {
      const { account, groups, providerSession, returnTo } = open<Waiting>(purposes.waiting, waiting);
      const { provider } = clientOf(account.provider);
      const checked = await signIn.check(username, password, visit.limitKey);
      const wrong = () => new Fault("unauthenticated", newReason("sign_in_wrong"));
      if (checked === null) throw wrong();
      const { token, session } = sessionOf(visit, null, providerSession);
      const made = await runWithRoles(store, openProviderSession, {
        account,
        unknown: { link: { id: checked.id, passwordHash: checked.passwordHash } },
        roles: rolesOf(provider, groups),
        session,
        audited: entryOf(visit),
      });
      if (typeof made === "string") throw wrong();
      warnOfMissing(account.provider, made.missingGroups);
      return { token, ...made, returnTo };
    },
    /** Ends the sessions that a provider's token names. Returns their users. */
    async endSessions(name: string, logoutToken: string, limitKey: string): Promise<number[]> {
      const client = clientOf(name);
      await limited(limitKey);
      const ended = await talk(() => client.ended(logoutToken)).catch((error: unknown) => {
        if (!(error instanceof Fault) || ["unavailable", "too_many"].includes(error.code)) throw error;
        throw new Fault("malformed", error.reason, { cause: error });
      });
      await byAddress.giveBack(limitKey);
      const users = await store.sessions.deleteAtProvider(ended);
      log.info({ provider: name, users: users.length }, "a provider has ended sessions");
      return users;
    },
  };
}
export type ProviderSignIn = ReturnType<typeof buildProviderSignIn>;

function canAskAgain({ refreshToken, expiresAt }: Grant, at: number): boolean {
  return refreshToken !== null || expiresAt === null || expiresAt > at;
}

function expired(): Fault {
  return new Fault("unauthenticated", newReason("provider_expired"));
}

/** The name of a new user; null if no user can have it: then the person links one. */
function usernameOf(login: string): string | null {
  return /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(login) ? login : null;
}
