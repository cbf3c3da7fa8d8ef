import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import type { HostKind } from "../git-host/hosts.ts";
import { publicHostAt } from "../git-host/recognise.ts";
import type { HostToken } from "../model/host/host-token.ts";
import type { GitCredential } from "../model/project.ts";
import { sealedPurpose } from "../model/sealed.ts";
import type { Keepers } from "../model/store.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import type { Secrets } from "../secrets.ts";
import { type HostAccess, type HostClientOptions, hostAccess } from "./host-client.ts";
import { buildHostRepositories, type FoundRepositories, readHostUser } from "./host-repositories.ts";

export interface HostTokensOptions extends HostClientOptions {
  store: Pick<Keepers, "hostTokens">;
  secrets: Secrets;
  clock: Clock;
}

export type OpenedToken = HostToken & HostAccess;

const hintLength = 4;
/** The end of a shorter token would reveal too much of it. */
const minHintedLength = 16;
const maxLoginLength = 200;
const maxTokensPerUser = 20;

/** Tokens of users for the APIs of Git hosts. A token is opened only for its owner and called only at its origin. */
export function buildHostTokens(options: HostTokensOptions) {
  const { store, secrets, clock } = options;
  const repositories = buildHostRepositories(clock);

  function open(token: HostToken): OpenedToken {
    const { userId, kind, origin, ciphertext } = token;
    const secret = secrets.open(sealedPurpose.hostToken(userId, origin), ciphertext);
    return { ...token, ...hostAccess(options, kind, origin, secret) };
  }

  /** Of another user, a token does not exist. */
  async function ofOwner(userId: number, id: number): Promise<HostToken> {
    const token = await store.hostTokens.byId(id);
    if (token?.userId === userId) return token;
    throw new Fault("not_found", newReason("no_host_token", { id }));
  }

  return {
    open,
    async openFor(userId: number, id: number): Promise<OpenedToken> {
      return open(await ofOwner(userId, id));
    },
    /** The user's token for a server; null: the user has none. */
    async openForOrigin(userId: number, kind: HostKind, origin: string): Promise<OpenedToken | null> {
      const own = await store.hostTokens.ofUser(userId);
      const token = own.find((each) => each.kind === kind && each.origin === origin);
      return token === undefined ? null : open(token);
    },
    ofUser: (userId: number) => store.hostTokens.ofUser(userId),
    /** The token is stored only if the host accepts it and it has the scopes that are needed. */
    async save(userId: number, kind: HostKind, url: string, token: string): Promise<HostToken> {
      const { origin, protocol, hostname } = new URL(url);
      // They have https, and a token must not cross the network in plain text.
      if (protocol === "http:" && publicHostAt(hostname) !== null)
        throw refused("url", newReason("not_https"));
      const stored = await store.hostTokens.ofUser(userId);
      if (stored.length >= maxTokensPerUser && !stored.some((each) => each.origin === origin))
        throw new Fault("conflict", newReason("host_tokens_full", { count: maxTokensPerUser }));
      const access = hostAccess(options, kind, origin, token);
      const { answer } = await readHostUser(access);
      const { login, scopes, missing, expiresAt } = await access.api.tokenFacts(access.call, answer);
      if (missing.length > 0) {
        const lacking = { login, missing: missing.join(", "), scopes: scopes?.join(", ") ?? "" };
        throw refused("token", newReason(scopes?.length ? "scope_lacking" : "scope_none", lacking));
      }
      await repositories.verify(access);
      const saved = await store.hostTokens.save({
        ...{ userId, kind, origin, scopes, expiresAt },
        login: login.slice(0, maxLoginLength),
        ciphertext: secrets.seal(sealedPurpose.hostToken(userId, origin), token),
        hint: token.length < minHintedLength ? "" : token.slice(-hintLength),
        createdAt: new Date(clock.now()),
      });
      repositories.forget(saved.id);
      return saved;
    },
    async forget(userId: number, id: number): Promise<HostToken> {
      const token = await ofOwner(userId, id);
      await store.hostTokens.delete(id);
      repositories.forget(id);
      return token;
    },
    /** The token as the credential of git, for a repository at the same server. */
    async gitCredential(userId: number, id: number, cloneUrl: string): Promise<GitCredential> {
      const { origin, login, ciphertext } = await ofOwner(userId, id);
      if (!URL.canParse(cloneUrl) || new URL(cloneUrl).origin !== origin)
        throw refused("url", `is not at ${origin}, the server of the token`);
      const token = secrets.open(sealedPurpose.hostToken(userId, origin), ciphertext);
      return { type: "token", username: login || "git", token };
    },
    async repositories(userId: number, id: number, search: string): Promise<FoundRepositories> {
      return repositories.find(id, open(await ofOwner(userId, id)), search);
    },
  };
}
export type HostTokens = ReturnType<typeof buildHostTokens>;

function refused(field: string, message: Reason): Fault {
  return new Fault("invalid", newReason("host_input_refused", { field, fault: message }), {
    fields: [{ field, message }],
  });
}
