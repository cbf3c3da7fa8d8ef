import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { operation, type Store } from "../model/store.ts";
import type { User } from "../model/user.ts";
import { type EndedCredentials, endCredentials } from "./end-credentials.ts";
import { type Passwords, passwordMaxLength, passwordMinLength } from "./password.ts";

/**
 * Sets a new password directly in the database, for the case that nobody can sign in. Enables the user, ends all sessions,
 * revokes the API tokens unless they are kept, and writes an audit entry.
 */
export async function rescueUser(
  store: Store,
  passwords: Passwords,
  clock: Clock,
  username: string,
  password: string,
  keepTokens: boolean,
): Promise<{ user: User } & EndedCredentials> {
  if (password.length < passwordMinLength || password.length > passwordMaxLength)
    throw new Fault("invalid", `A password has ${passwordMinLength} to ${passwordMaxLength} characters.`);
  const passwordHash = await passwords.hash(password);
  return store.run(rescue, { username, passwordHash, keepTokens, at: new Date(clock.now()) });
}

interface Rescue {
  username: string;
  passwordHash: string;
  keepTokens: boolean;
  at: Date;
}

export const rescue = operation(
  "rescueUser",
  async (
    keepers,
    { username, passwordHash, keepTokens, at }: Rescue,
  ): Promise<{ user: User } & EndedCredentials> => {
    const user = await keepers.users.byUsername(username);
    if (!user) throw new Fault("not_found", `There is no user ${username} in this database.`);
    await keepers.users.update(user.id, { passwordHash, disabled: false });
    const ended = await endCredentials(keepers, user.id, { keepTokens });
    await keepers.audit.add({
      at,
      userId: null,
      username: "",
      action: "user.rescue",
      projectId: null,
      subject: `user ${user.username}`,
      detail: { ...ended },
      remoteIp: "command line",
    });
    return { user, ...ended };
  },
);
