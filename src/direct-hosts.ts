/** Of both spellings, programs read the first that is set; Bun prefers the lower case. */
const names = ["no_proxy", "NO_PROXY"] as const;
const proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const loopback = ["localhost", "127.0.0.0/8", "127.0.0.1", "::1", "[::1]"];

/**
 * Calls to these hosts never go through a proxy, whatever HTTP_PROXY says: a proxy cannot reach this machine's loopback
 * and would read the tokens of local calls. Works on fetch of this process; scripts keep the environment of the start.
 */
export function reachDirectly(hosts: string[], env: Record<string, string | undefined> = process.env): void {
  if (!proxies.some((name) => env[name])) return;
  const held = env.no_proxy || env.NO_PROXY || "";
  const listed = held.split(",").map((entry) => entry.trim());
  const missing = hosts.filter((host) => !listed.includes(host));
  if (missing.length === 0 && env.no_proxy === env.NO_PROXY) return;
  const value = [...listed, ...missing].filter(Boolean).join(",");
  for (const name of names) env[name] = value;
}

export function reachLoopbackDirectly(): void {
  reachDirectly(loopback);
}

const atStart = { no_proxy: process.env.no_proxy, NO_PROXY: process.env.NO_PROXY };

/** For other programs: as this process found it. */
export function environmentForOthers(): Record<string, string | undefined> {
  const { no_proxy: _lower, NO_PROXY: _upper, ...env } = process.env;
  return {
    ...env,
    ...Object.fromEntries(Object.entries(atStart).filter(([, value]) => value !== undefined)),
  };
}
