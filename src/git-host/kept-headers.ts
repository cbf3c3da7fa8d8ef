import type { HeaderValues } from "./delivery/headers.ts";
import type { GitHost } from "./git-host.ts";
import { gitHosts } from "./hosts.ts";

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
