import { randomToken } from "../secrets.ts";
import { buildGate } from "./costly-work-limit.ts";

/** OWASP's parameters for argon2id: 19 MiB, two passes. */
const argon2id = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/** The minimum makes guessing hard; the maximum limits the cost of hashing. */
export const passwordMinLength = 8;
export const passwordMaxLength = 256;

/** Hashing runs outside of the event loop, a few at a time, because each takes memory and CPU time. */
export function buildPasswords() {
  const run = buildGate({ atOnce: 4, waiting: 64 });
  const hash = (password: string) => run(() => Bun.password.hash(password, argon2id));
  let dummyHash: Promise<string> | null = null;
  return {
    hash,
    /** A null hash (no such user) takes as long as a wrong password and is always false. */
    async matches(password: string, stored: string | null): Promise<boolean> {
      dummyHash ??= hash(randomToken(16));
      const against = stored ?? (await dummyHash);
      // The runtime throws for an empty password; checking another one takes the same time.
      const isRight = await run(() => Bun.password.verify(password || "none", against));
      return isRight && stored !== null && password !== "";
    },
  };
}
export type Passwords = ReturnType<typeof buildPasswords>;
