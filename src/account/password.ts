import { Fault } from "../errors.ts";
import { randomToken } from "../secrets.ts";

/** argon2id takes 64 MiB a time, off the loop; more at once than this would be a way to fill the memory. */
const maxAtOnce = 4;
/** Over this many waiting, the next is told to come back. */
const maxWaiting = 64;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** A null hash (no such user) takes as long as a wrong password and is always false. */
  matches(password: string, hash: string | null): Promise<boolean>;
}

export function buildPasswords(): Passwords {
  const run = buildGate(maxAtOnce, maxWaiting);
  const hash = (password: string) => run(() => Bun.password.hash(password, "argon2id"));
  let nobody: Promise<string> | null = null;
  return {
    hash,
    async matches(password, stored) {
      nobody ??= hash(randomToken(16));
      const against = stored ?? (await nobody);
      const isRight = await run(() => Bun.password.verify(password, against));
      return isRight && stored !== null;
    },
  };
}

/** Lets `atOnce` run, `waiting` wait, and refuses the rest. */
function buildGate(atOnce: number, waiting: number) {
  let running = 0;
  const queue: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (queue.length >= waiting)
        throw new Fault("too_many", "Too many sign-ins at once; try again in a moment.", {
          retryAfterSeconds: 2,
        });
      await new Promise<void>((resolve) => queue.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
