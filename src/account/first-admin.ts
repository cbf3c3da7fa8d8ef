import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { operation, type Store } from "../model/store.ts";
import type { UserKeeper } from "../model/user.ts";
import { randomToken } from "../secrets.ts";
import { type Passwords, passwordMaxLength, passwordMinLength } from "./password.ts";

const lockWaitMs = 8_000;

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
  const admin = { username: "admin", passwordHash, role: "admin", createdAt: new Date(clock.now()) } as const;
  const making = store.run(createFirstUser, admin, { name: "first-admin", waitMs: lockWaitMs });
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
  return made
    ? { username: admin.username, generatedPassword: chosenPassword === undefined ? password : null }
    : null;
}

type FirstUser = Parameters<UserKeeper["create"]>[0];

/** False when there are users already. */
export const createFirstUser = operation(
  "createFirstUser",
  async ({ users }, user: FirstUser): Promise<boolean> => {
    if ((await users.count()) > 0) return false;
    await users.create(user);
    return true;
  },
);
