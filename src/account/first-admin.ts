import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import type { Store } from "../model/store.ts";
import { randomToken } from "../secrets.ts";
import { type Passwords, passwordMaxLength, passwordMinLength } from "./password.ts";

const lockWaitMs = 30_000;

export interface FirstAdmin {
  username: string;
  /** To be shown once; null if the operator chose the password. */
  generatedPassword: string | null;
}

/**
 * Creates the user `admin` in an empty database. Null if there are users already. If several instances start together,
 * the lock or the unique username lets one of them create it.
 */
export async function ensureFirstAdmin(
  store: Store,
  passwords: Passwords,
  clock: Clock,
  chosenPassword: string | undefined,
): Promise<FirstAdmin | null> {
  if ((await store.users.count()) > 0) return null;
  const password = chosenPassword ?? randomToken(15);
  if (password.length < passwordMinLength || password.length > passwordMaxLength)
    throw new Fault(
      "invalid",
      `SLIPWAY_ADMIN_PASSWORD must have ${passwordMinLength} to ${passwordMaxLength} characters; without it the first start makes a password and prints it.`,
    );
  const passwordHash = await passwords.hash(password);
  const making = store.withLock("first-admin", lockWaitMs, async ({ users }) => {
    if ((await users.count()) > 0) return null;
    const createdAt = new Date(clock.now());
    await users.create({ username: "admin", passwordHash, role: "admin", createdAt });
    return { username: "admin", generatedPassword: chosenPassword === undefined ? password : null };
  });
  const made = await making.catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === "conflict") return null;
    throw thrown;
  });
  // Continuing would run an installation without any user who can sign in.
  if (made === "timeout")
    throw new Fault(
      "unavailable",
      "The user `admin` could not be created: another process holds the database lock. Start again.",
    );
  return made;
}
