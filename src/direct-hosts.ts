/** Programs use the first spelling that is set; Bun prefers lower case. */
const noProxyNames = ["no_proxy", "NO_PROXY"] as const;
const proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const loopback = ["localhost", "127.0.0.0/8", "127.0.0.1", "::1", "[::1]"];

/**
 * Calls to these hosts never use HTTP_PROXY: a proxy cannot reach this machine's loopback and could read the tokens of local
 * calls. Affects only fetch in this process; scripts get the original environment.
 */
export function reachDirectly(hosts: string[], env: Record<string, string | undefined> = process.env): void {
  if (!proxies.some((name) => env[name])) return;
  const listed = (env.no_proxy || env.NO_PROXY || "").split(",").map((entry) => entry.trim());
  const missing = hosts.filter((host) => !listed.includes(host));
  if (missing.length === 0 && env.no_proxy === env.NO_PROXY) return;
  const value = [...listed, ...missing].filter(Boolean).join(",");
  for (const name of noProxyNames) env[name] = value;
}

export function reachLoopbackDirectly(): void {
  reachDirectly(loopback);
}

const atStart = { no_proxy: process.env.no_proxy, NO_PROXY: process.env.NO_PROXY };

/** The environment that this process was started with, for child processes. */
export function originalEnvironment(): Record<string, string | undefined> {
  const { no_proxy: _lower, NO_PROXY: _upper, ...env } = process.env;
  return {
    ...env,
    ...Object.fromEntries(Object.entries(atStart).filter(([, value]) => value !== undefined)),
  };
}
