import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import type { HostKind, HostToken } from "../model/host/host-token.ts";
import { sealedPurpose } from "../model/sealed.ts";
import type { Keepers } from "../model/store.ts";
import type { Secrets } from "../secrets.ts";
import type { HostRepository } from "./host/host-api.ts";
import { type HostCall, type HostClientOptions, hostApis, hostCall, succeeded } from "./host/host-client.ts";

export interface HostTokensOptions extends HostClientOptions {
  store: Pick<Keepers, "hostTokens">;
  secrets: Secrets;
  clock: Clock;
}

export interface OpenedToken extends HostToken {
  call: HostCall;
}

const hintLength = 4;

/** Tokens of users for the APIs of Git hosts. A token is opened only for its owner and called only at its origin. */
export function buildHostTokens(options: HostTokensOptions) {
  const { store, secrets, clock } = options;

  function open(token: HostToken): OpenedToken {
    const { userId, kind, origin, ciphertext } = token;
    const secret = secrets.open(sealedPurpose.hostToken(userId, origin), ciphertext);
    return { ...token, call: hostCall(options, kind, origin, secret) };
  }

  /** Of another user, a token does not exist. */
  async function ofOwner(userId: number, id: number): Promise<HostToken> {
    const token = await store.hostTokens.byId(id);
    if (token?.userId === userId) return token;
    throw new Fault("not_found", `You have no host token ${id}.`);
  }

  async function listRepositories({ kind, origin, call }: Pick<OpenedToken, "kind" | "origin" | "call">) {
    const api = hostApis[kind];
    const listed = succeeded(await call(api.listRepositories), origin, "list the repositories");
    if (!Array.isArray(listed))
      throw new Fault("conflict", `${origin} did not answer with a list; is it the right kind of Git host?`);
    return listed.map(api.readRepository).filter((found): found is HostRepository => found !== null);
  }

  return {
    open,
    async openFor(userId: number, id: number): Promise<OpenedToken> {
      return open(await ofOwner(userId, id));
    },
    ofUser: (userId: number) => store.hostTokens.ofUser(userId),
    /** The token is stored only if the host accepts it. */
    async save(userId: number, kind: HostKind, url: string, token: string): Promise<HostToken> {
      const { origin } = new URL(url);
      await listRepositories({ kind, origin, call: hostCall(options, kind, origin, token) });
      return store.hostTokens.save({
        ...{ userId, kind, origin },
        ciphertext: secrets.seal(sealedPurpose.hostToken(userId, origin), token),
        hint: token.slice(-hintLength),
        createdAt: new Date(clock.now()),
      });
    },
    async forget(userId: number, id: number): Promise<HostToken> {
      const token = await ofOwner(userId, id);
      await store.hostTokens.delete(id);
      return token;
    },
    async repositories(userId: number, id: number): Promise<HostRepository[]> {
      return listRepositories(open(await ofOwner(userId, id)));
    },
  };
}
export type HostTokens = ReturnType<typeof buildHostTokens>;
