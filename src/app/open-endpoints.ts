import type { Config } from "../config/config.ts";
import { buildKeylessCalls, type KeylessOptions } from "../http/keyless-calls.ts";
import { isLoopbackHost } from "../listen-address.ts";
import type { AppRole } from "./app-context.ts";

export function keylessOptionsOf(config: Config): KeylessOptions {
  return {
    internalNetworks: config["push.internal-networks"],
    baseUrl: config["server.baseUrl"],
    hosts: config["server.hosts"],
    listenHost: config["server.listen"].host,
  };
}

const openToEveryone: Record<AppRole, string> = {
  start:
    "console, sign-in, /manual, /docs, /docs/push, /api/hooks/git/<key>, /ws and /sse (with a code), /livez, /readyz",
  push: "/manual, /docs/push, /ws and /sse (with a code), /livez, /readyz",
  deploy: "console, sign-in, /manual, /docs, /api/hooks/git/<key>, /livez, /readyz",
};

/** Lists at start which endpoints are open to which callers, for operators. */
export function openEndpoints(config: Config, role: AppRole): string[] {
  const hasKeys = config["push.api-keys"].length > 0;
  const hasToken = config["metrics.token"] !== undefined;
  const feign = role === "deploy" ? [] : ["/feign/*"];
  const keyless = [...(hasKeys ? [] : feign), ...(hasToken ? [] : ["/metrics"])];
  const { networks } = buildKeylessCalls(keylessOptionsOf(config), "");
  const lines = [`open to everyone: ${openToEveryone[role]}`];
  if (hasKeys && feign.length > 0) lines.push("open with a key of push.api-keys: /feign/*");
  if (hasToken) lines.push("open with metrics.token: /metrics");
  if (keyless.length === 0) return lines;
  const names = keyless.join(", ");
  return networks.length === 0
    ? [...lines, `closed: ${names} (see push.api-keys, metrics.token and push.internal-networks)`]
    : [...lines, `open without a key to ${networks.join(", ")}: ${names}`];
}

export function openWarnings(config: Config, role: AppRole): string[] {
  const warnings: string[] = [];
  const { networks } = buildKeylessCalls(keylessOptionsOf(config), "");
  const listensBeyondLoopback = !isLoopbackHost(config["server.listen"].host);
  if (
    role !== "deploy" &&
    listensBeyondLoopback &&
    config["push.api-keys"].length === 0 &&
    networks.length > 0
  )
    warnings.push(
      "push.api-keys is empty although the server listens beyond loopback: only push.internal-networks may call /feign.",
    );
  const baseUrl = config["server.baseUrl"];
  const isPublic = baseUrl !== undefined && !isLoopbackHost(new URL(baseUrl).hostname);
  if (isPublic && config["server.trustedProxies"].length === 0)
    warnings.push(
      "server.baseUrl is set and server.trustedProxies is empty: behind a proxy all clients have its address, and the limits " +
        "of sign-ins and connections count all clients as one. Name the proxy, for example server.trustedProxies: [127.0.0.1/32].",
    );
  return warnings;
}
