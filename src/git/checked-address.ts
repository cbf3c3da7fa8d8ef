import { lookup } from "node:dns/promises";
import { isIP, isIPv6 } from "node:net";
import { isInternalAddress } from "../internal-address.ts";
import { gitAddressOf } from "../model/git/git-url.ts";
import { newReason, type Sentence } from "../reason/reason.ts";

/** Large public Git hosts: they redirect a renamed repository within themselves only. */
const publicHosts = ["github.com", "gitlab.com", "gitee.com", "gitea.com", "codeberg.org", "bitbucket.org"];

/** Which internal addresses this server may connect to. */
export interface AddressRules {
  allowInternal: boolean;
  /** Origins of Git servers that may have an internal address. */
  trusted: readonly string[];
}

/** Settings with which git connects to the checked address and to no other. */
export interface CheckedAddress {
  git: Record<string, string>;
  ssh: Record<string, string>;
  /** Absent: any address of the host may be used. */
  address?: string;
}

const unchecked: CheckedAddress = { git: {}, ssh: {} };

/**
 * Resolves the host of a clone URL. A reason instead of settings says why this server must not connect to it. The name is
 * resolved once, so that a second DNS answer cannot lead elsewhere. A redirect could, so it is followed at public hosts only.
 */
export async function checkAddress(
  url: string,
  rules: AddressRules,
  env: Record<string, string | undefined>,
): Promise<CheckedAddress | Sentence> {
  const address = gitAddressOf(url);
  if (address === null || rules.allowInternal || isAtTrustedHost(url, rules.trusted)) return unchecked;
  const { scheme, port } = address;
  const host = address.host.replace(/^\[|\]$/g, "");
  const isName = isIP(host) === 0;
  const found = isName ? await resolved(host) : [host];
  const internal = found.find(isInternalAddress);
  if (internal !== undefined) return newReason("address_internal", { address: internal });
  // The proxy resolves names that only it knows.
  if (found.length === 0 && !hasProxy(scheme, env)) return newReason("git_host_unknown", { host });
  const [first] = found;
  if (scheme === "ssh")
    return { git: {}, ssh: isName && first !== undefined ? sshTo(first, host, port) : {} };
  const git: Record<string, string> = publicHosts.includes(host) ? {} : { "http.followRedirects": "false" };
  if (isName && first !== undefined)
    git["http.curloptResolve"] = `${host}:${port}:${found.map(bracketed).join(",")}`;
  return { git, ssh: {}, ...(first === undefined ? {} : { address: first }) };
}

/** By http and https only at the origin. A Git server has ssh at a port of its own. */
function isAtTrustedHost(url: string, trusted: readonly string[]): boolean {
  const address = gitAddressOf(url);
  return trusted.some((origin) => {
    const { hostname } = new URL(origin);
    return address?.scheme === "ssh"
      ? hostname === address.host
      : URL.canParse(url) && new URL(url).origin === origin;
  });
}

async function resolved(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, verbatim: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** The key of the host stays stored under its name, as ssh itself writes it. */
function sshTo(address: string, host: string, port: string): Record<string, string> {
  return { HostName: address, HostKeyAlias: port === "22" ? host : `[${host}]:${port}` };
}

export function hasProxy(scheme: string, env: Record<string, string | undefined>): boolean {
  return scheme !== "ssh" && Boolean(env[`${scheme}_proxy`] || env[`${scheme}_proxy`.toUpperCase()]);
}

function bracketed(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}
