import type { Config } from "../config/config.ts";
import { buildKeylessCalls, type KeylessOptions } from "../http/keyless-calls.ts";
import { isLoopbackHost } from "../listen-address.ts";
import { newReason, type Reason } from "../reason/reason.ts";
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
    "console, sign-in, /manual, /docs, /docs/push, /schemas/pipeline.json, /api/hooks/git/<key>, /ws and /sse (with a code), /livez, /readyz",
  push: "/manual, /docs/push, /ws and /sse (with a code), /livez, /readyz",
  deploy: "console, sign-in, /manual, /docs, /schemas/pipeline.json, /api/hooks/git/<key>, /livez, /readyz",
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

export function openWarnings(config: Config, role: AppRole): Reason[] {
  const warnings: Reason[] = [];
  const { networks } = buildKeylessCalls(keylessOptionsOf(config), "");
  const listensBeyondLoopback = !isLoopbackHost(config["server.listen"].host);
  if (
    role !== "deploy" &&
    listensBeyondLoopback &&
    config["push.api-keys"].length === 0 &&
    networks.length > 0
  )
    warnings.push(newReason("system_no_api_keys"));
  const baseUrl = config["server.baseUrl"];
  const isPublic = baseUrl !== undefined && !isLoopbackHost(new URL(baseUrl).hostname);
  if (isPublic && config["server.trustedProxies"].length === 0) warnings.push(newReason("system_no_proxies"));
  return warnings;
}
