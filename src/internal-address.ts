import { BlockList, isIP, isIPv6 } from "node:net";

/** Networks of this machine, local networks and reserved networks: an outgoing call there is an attack or a mistake. */
const internalNetworks = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Including embedded IPv4 addresses: ::127.0.0.1, 2002:7f00:1::.
  "::/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "2001::/32",
  "2002::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];

const internal = new BlockList();
for (const network of internalNetworks) {
  const [address = "", bits = ""] = network.split("/");
  internal.addSubnet(address, Number(bits), isIPv6(address) ? "ipv6" : "ipv4");
}

/** Whether an IP address is not public; a text that is not an address counts as internal. */
export function isInternalAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const mapped = /^::ffff:(.+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return isInternalAddress(mapped.includes(".") ? mapped : fromHex(mapped));
  if (isIP(bare) === 0) return true;
  return internal.check(bare, isIPv6(bare) ? "ipv6" : "ipv4");
}

/** `7f00:1` → `127.0.0.1`, as IPv4 inside IPv6 may be written. */
function fromHex(pair: string): string {
  const [high = 0, low = 0] = pair.split(":").map((part) => Number.parseInt(part, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
