import { Fault } from "../errors.ts";
import type { NewAuditEntry } from "../model/audit.ts";
import { operation } from "../model/store.ts";
import type { ApiToken } from "../model/user.ts";
import { newReason } from "../reason/reason.ts";
import { buildCredentials } from "./credential.ts";

/** Enough for every machine of a person; a list that grows beyond is a script gone wrong. */
const maxPerUser = 200;

interface NewToken {
  token: Omit<ApiToken, "id" | "lastUsedAt">;
  /** The credential of the caller. */
  credential: string;
  /** The entry that is stored with the token. */
  audited: NewAuditEntry;
}

export const createToken = operation(
  "createToken",
  async (keepers, { token, credential, audited }: NewToken): Promise<ApiToken> => {
    const { userId } = token;
    await keepers.users.hold(userId);
    // A new password may have revoked the caller's credential meanwhile; then no token may be created.
    await buildCredentials(keepers, { now: () => token.createdAt.getTime() }).callerOf(credential);
    const { total } = await keepers.apiTokens.list({ userId }, { page: 1, pageSize: 1 });
    if (total >= maxPerUser) throw new Fault("conflict", newReason("tokens_full", { count: total }));
    await keepers.audit.add(audited);
    return keepers.apiTokens.create(token);
  },
);
