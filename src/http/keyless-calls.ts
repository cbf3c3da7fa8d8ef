import { isIP } from "node:net";
import type { Server } from "bun";
import { isLoopbackHost } from "../listen-address.ts";
import type { CallHead } from "./call-head.ts";
import { networksOf } from "./client-address.ts";

export interface KeylessOptions {
  /** push.internal-networks; undefined if it is not set. */
  internalNetworks: readonly string[] | undefined;
  baseUrl: string | undefined;
  /** server.hosts */
  hosts: readonly string[];
  listenHost: string;
}

const loopbackNetworks = ["127.0.0.0/8", "::1/128"];

/**
 * Decides which callers may use an internal endpoint without a key or token.
 *
 * The peer's address alone proves little: a proxy or a browser on this machine calls from loopback on behalf of strangers.
 * So a public base URL (which implies a proxy) closes the endpoints until internal networks are named, and a call must not
 * be forwarded, must not come from a web page, and must use a host name of this server. A DNS rebinding page still sends its
 * own name as Host.
 *
 * `keySetting` is the setting that would admit a refused caller with a secret.
 */
export function buildKeylessCalls(options: KeylessOptions, keySetting: string) {
  const { internalNetworks, baseUrl, listenHost } = options;
  const isPublic = baseUrl !== undefined && !isLoopbackHost(new URL(baseUrl).hostname);
  const networks = internalNetworks ?? (isPublic ? [] : loopbackNetworks);
  const internal = networksOf(networks);
  const everyPeerIsInternal = isReachedFromLoopbackOnly(listenHost, networks);
  const ownNames = new Set(["localhost", ...options.hosts.map((host) => host.toLowerCase())]);
  if (baseUrl !== undefined) ownNames.add(new URL(baseUrl).hostname);
  // Callers send the same Host each time, so it is parsed only when it changes.
  let lastOwnHost: string | null = null;

  function isOwnHost(host: string): boolean {
    if (host === lastOwnHost) return true;
    const name = hostNameOf(host);
    const isOwn = name !== null && (isIP(name) !== 0 || ownNames.has(name));
    if (isOwn) lastOwnHost = host;
    return isOwn;
  }

  const closed =
    internalNetworks === undefined && isPublic
      ? `server.baseUrl is a public address, so calls from this machine may come from strangers through a proxy: set ${keySetting}, ` +
        `or name the networks of callers without a key, for example push.internal-networks: ${JSON.stringify(loopbackNetworks)}.`
      : `Only callers inside push.internal-networks, not through a proxy, are served; or set ${keySetting}.`;

  return {
    /** Networks whose callers need no key; empty: a key is always needed. */
    networks,
    /** Null: the caller is admitted. Otherwise the reason, and the setting that would admit it. */
    refusalOf(head: CallHead, request: Request, server: Pick<Server<unknown>, "requestIP">): string | null {
      if (head.hasPassedProxy) return closed;
      if (!everyPeerIsInternal && !internal.has(server.requestIP(request)?.address ?? "")) return closed;
      if (head.isFromWebPage)
        return `The request comes from a web page (it has an Origin header or is cross-site); set ${keySetting} to allow that.`;
      if (head.host !== null && !isOwnHost(head.host))
        return `The Host header ${JSON.stringify(head.host.slice(0, 100))} is not a name of this server: add the name to server.hosts, or set ${keySetting}.`;
      return null;
    },
  };
}
export type KeylessCalls = ReturnType<typeof buildKeylessCalls>;

/** A listener on loopback is reached only from loopback, so the address need not be checked. */
function isReachedFromLoopbackOnly(listenHost: string, networks: readonly string[]): boolean {
  const isLoopback = isIP(listenHost) !== 0 && isLoopbackHost(listenHost);
  return isLoopback && loopbackNetworks.every((network) => networks.includes(network));
}

/** `Name.Example:8080` → `name.example`, `[::1]:8080` → `::1`; null: not a host. */
function hostNameOf(host: string): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host);
  const name = match?.[1] ?? match?.[2]?.replace(/\.$/, "");
  return name ? name.toLowerCase() : null;
}
