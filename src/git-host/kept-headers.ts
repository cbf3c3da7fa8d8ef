import type { HeaderValues } from "./delivery/headers.ts";
import type { GitHost } from "./git-host.ts";
import { gitHostOf, gitHosts, type ProviderName } from "./hosts.ts";

const alwaysKept = ["content-type", "content-encoding", "user-agent"] as const;

/** Headers in records of a generic sender, in lower case. None of them may carry its secret. */
export const keptOfGeneric: readonly string[] = [
  ...alwaysKept,
  ...gitHosts.generic.deliveryIdHeaders.map((name) => name.toLowerCase()),
];

/** The headers for the record: only those listed here and the host's event and delivery id, because others may carry secrets. */
export function keptHeaders(headers: HeaderValues, host?: GitHost): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const names of [alwaysKept, host?.eventHeaders ?? [], host?.deliveryIdHeaders ?? []])
    for (const name of names) {
      const value = headers.get(name);
      if (value !== null) kept[name.toLowerCase()] = value.slice(0, 300);
    }
  return kept;
}

/** Hides the secret: a configuration of an earlier version may name a header that is recorded. */
export function withoutSecret(
  headers: HeaderValues,
  { provider, secretHeader }: { provider: ProviderName; secretHeader: string },
): HeaderValues {
  const hidden = secretHeader.toLowerCase();
  if (typeof gitHostOf(provider).proof !== "function" || !keptOfGeneric.includes(hidden)) return headers;
  return { get: (name) => (name.toLowerCase() === hidden ? null : headers.get(name)) };
}
