import { BlockList, isIP } from "node:net";
import { BoundedMap } from "../bounded-map.ts";

/** A set of networks. */
export interface Networks {
  has(address: string): boolean;
}

const maxRemembered = 10_000;

/** The settings have validated `cidrs`. Results are cached, because the same few callers come again and again. */
export function networksOf(cidrs: readonly string[]): Networks {
  if (cidrs.length === 0) return { has: () => false };
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = "", bits = ""] = cidr.split("/");
    list.addSubnet(network, Number(bits), familyOf(network));
  }
  const known = new BoundedMap<string, boolean>(maxRemembered);
  const isInside = (address: string) => {
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && list.check(plain, familyOf(plain));
  };
  return {
    has(address) {
      const earlier = known.get(address);
      if (earlier !== undefined) return earlier;
      const verdict = isInside(address);
      known.set(address, verdict);
      return verdict;
    },
  };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/** Turns IPv4-mapped IPv6 (`::ffff:10.0.0.1`) into IPv4, and removes zone and brackets. */
export function plainAddress(address: string): string {
  if (!address.includes(":")) return address;
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
}

/**
 * The client's address. X-Forwarded-For counts only from a trusted proxy. The client is its right-most entry that is not a
 * trusted proxy, because the entries left of it may be forged.
 */
export function clientAddressOf(headers: Headers, peerAddress: string, trustedProxies: Networks): string {
  const peer = plainAddress(peerAddress);
  if (!trustedProxies.has(peer)) return peer;
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").map((entry) => withoutPort(entry.trim()));
  for (const entry of entries.reverse()) {
    if (isIP(entry) === 0) break;
    if (!trustedProxies.has(entry)) return entry;
  }
  return peer;
}

/** Some proxies add a port: `10.0.0.1:1234`, `[::1]:1234`. */
function withoutPort(entry: string): string {
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(entry) ?? /^([\d.]+):\d+$/.exec(entry);
  return plainAddress(match?.[1] ?? entry);
}

/**
 * The key of limits per address: an IPv4 address, or the /64 network of an IPv6 address, because one client usually has a
 * whole /64.
 */
export function limitKeyOf(address: string): string {
  const plain = plainAddress(address);
  if (isIP(plain) !== 6) return plain;
  const [head = "", tail] = plain.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  // `::` is expanded to zeros, which may be among the first four groups.
  const after = tail ? tail.split(":") : [];
  while (tail !== undefined && groups.length + after.length < 8) groups.push("0");
  const network = [...groups, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

/** Whether the client used https, to this server or to a trusted proxy. */
export function isHttps(request: Request, peerAddress: string, trustedProxies: Networks): boolean {
  if (request.url.startsWith("https:")) return true;
  if (!trustedProxies.has(peerAddress)) return false;
  return request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase() === "https";
}

/** Headers that proxies and CDNs add besides `X-Forwarded-…`. */
const proxyHeaders = new Set([
  "forwarded",
  "via",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-original-forwarded-for",
  "x-envoy-external-address",
  "true-client-ip",
  "fastly-client-ip",
  "cf-connecting-ip",
  "cf-ray",
]);

/**
 * Whether a header, by its lower-case name, shows that a request passed a proxy. Such a request never counts as internal:
 * otherwise a proxy on the same host would open the internal endpoints to the world.
 */
export function isProxyHeader(name: string): boolean {
  return name.startsWith("x-forwarded") || proxyHeaders.has(name);
}
