import { Counter } from "prom-client";
import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import type { NewAuditEntry } from "../model/audit.ts";
import type { FailedAttemptKeeper } from "../model/failed-attempt.ts";
import type { Caller } from "../model/permission.ts";
import type { Store } from "../model/store.ts";
import type { Session, User, UserWithPassword } from "../model/user.ts";
import { newReason } from "../reason/reason.ts";
import { hashToken } from "../secrets.ts";
import { buildAttemptLimit } from "./attempt-limit.ts";
import { newToken } from "./credential.ts";
import type { EndedCredentials } from "./end-credentials.ts";
import { changePassword as changePasswordOperation, openSession } from "./open-session.ts";
import type { Passwords } from "./password.ts";

const windowMs = 5 * 60_000;
const maxKeys = 10_000;
/** The limit per username is higher, because an attacker could otherwise lock its owner out with a few guesses. */
const perAddress = { name: "address", attempts: 20, windowMs, maxKeys };
const perUsername = { name: "username", attempts: 50, windowMs, maxKeys };

export interface SignInRequest {
  username: string;
  password: string;
  remoteIp: string;
  userAgent: string;
  /** Failures are counted by this key: the address, or the IPv6 network of a client. */
  limitKey: string;
}

export interface PasswordChange {
  oldPassword: string;
  newPassword: string;
  keepTokens: boolean;
  limitKey: string;
}

export interface SignInOptions {
  store: Pick<Store, "users" | "sessions" | "run">;
  /** Counts failures over all instances; null if there is only one. */
  attempts: FailedAttemptKeeper | null;
  passwords: Passwords;
  clock: Clock;
  metrics: Metrics;
  sessionMs: number;
  /** Whose passwords open a session. */
  local: "everyone" | "admins";
}

export function buildSignIn(options: SignInOptions) {
  const { store, attempts, passwords, clock, metrics, sessionMs, local } = options;
  // Failed usernames are not logged, because people mistype their password into that field.
  const checks = new Counter({
    name: "slipway_password_checks_total",
    help: "Passwords that were tried, at sign-in or to change one.",
    labelNames: ["result"],
    registers: [metrics],
  });
  const byAddress = buildAttemptLimit(perAddress, clock, attempts);
  const byUsername = buildAttemptLimit(perUsername, clock, attempts);

  /** Counts before the check, so that parallel guesses count too; a right password is not counted. */
  async function check(
    username: string,
    password: string,
    limitKey: string,
  ): Promise<UserWithPassword | null> {
    const name = username.toLowerCase();
    const waitSeconds = (await byAddress.take(limitKey)) || (await byUsername.take(name));
    if (waitSeconds > 0) {
      checks.inc({ result: "limited" });
      throw new Fault("too_many", newReason("sign_in_often", { seconds: waitSeconds }), {
        retryAfterSeconds: waitSeconds,
      });
    }
    const user = await store.users.byUsername(username);
    const isUsable = user !== null && !user.disabled;
    const isRight = await passwords.matches(password, isUsable ? user.passwordHash : null);
    checks.inc({ result: isRight ? "right" : "wrong" });
    if (!isRight || !user) return null;
    // Only this attempt is given back: a reset would let the owner of one account guess others without limit.
    await byAddress.giveBack(limitKey);
    await byUsername.forgive(name);
    return user;
  }

  return {
    /** The user of this username and password; null: there is none. Counts failures. */
    check,
    /** Creates a session. Throws 401 without a detailed reason, and 429 after too many failures. */
    async signIn({
      username,
      password,
      remoteIp,
      userAgent,
      limitKey,
    }: SignInRequest): Promise<{ token: string; session: Session; user: User }> {
      const checked = await check(username, password, limitKey);
      if (!checked) throw wrong();
      if (local === "admins" && checked.role !== "admin")
        throw new Fault("forbidden", newReason("local_admins_only"));
      const token = newToken("session");
      const now = clock.now();
      const session = await store.run(openSession, {
        checked: { id: checked.id, passwordHash: checked.passwordHash },
        session: {
          userId: checked.id,
          tokenHash: hashToken(token),
          userAgent: userAgent.slice(0, 200),
          remoteIp,
          createdAt: new Date(now),
          lastSeenAt: new Date(now),
          expiresAt: new Date(now + sessionMs),
        },
      });
      if (!session) throw wrong();
      const { passwordHash: _, ...user } = checked;
      return { token, session, user };
    },
    async signOut(caller: Caller): Promise<void> {
      if (caller.sessionId !== null) await store.sessions.delete(caller.sessionId);
    },
    /** Needs the old password; ends every other session of the user and, unless they are kept, all API tokens. */
    async changePassword(
      caller: Caller,
      { oldPassword, newPassword, keepTokens, limitKey }: PasswordChange,
      audited: NewAuditEntry,
    ): Promise<EndedCredentials> {
      const checked = await check(caller.username, oldPassword, limitKey);
      if (!checked) throw wrongOld();
      const passwordHash = await passwords.hash(newPassword);
      const ended = await store.run(changePasswordOperation, {
        checked: { id: checked.id, passwordHash: checked.passwordHash },
        passwordHash,
        keepTokens,
        keepSessionId: caller.sessionId,
        audited,
      });
      if (!ended) throw wrongOld();
      return ended;
    },
  };
}
export type SignIn = ReturnType<typeof buildSignIn>;

function wrong(): Fault {
  return new Fault("unauthenticated", newReason("sign_in_wrong"));
}

function wrongOld(): Fault {
  return new Fault("invalid", newReason("old_password_wrong"), {
    fields: [{ field: "oldPassword", message: newReason("password_wrong") }],
  });
}
