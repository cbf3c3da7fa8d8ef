import type { WebhookConfig } from "../model/webhook-config.ts";
import type { HeaderValues } from "./delivery/headers.ts";
import { type GitHost, gitHostOf, gitHosts } from "./hosts.ts";

const alwaysKept = ["content-type", "content-encoding", "user-agent"] as const;

/** Headers in records of a generic sender, in lower case. None of them may carry its secret. */
export const keptOfGeneric: readonly string[] = [
  ...alwaysKept,
  ...gitHosts.generic.deliveryIdHeaders.map((name) => name.toLowerCase()),
];

/** The headers for the record: only those listed here and the host's event and delivery id, because others may carry secrets. */
export function keptHeaders(headers: HeaderValues, provider?: GitHost): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const names of [alwaysKept, provider?.eventHeaders ?? [], provider?.deliveryIdHeaders ?? []])
    for (const name of names) {
      const value = headers.get(name);
      if (value !== null) kept[name.toLowerCase()] = value.slice(0, 300);
    }
  return kept;
}

/** Hides the secret: a configuration of an earlier version may name a header that is recorded. */
export function withoutSecret(
  headers: HeaderValues,
  { provider, secretHeader }: Pick<WebhookConfig, "provider" | "secretHeader">,
): HeaderValues {
  const hidden = secretHeader.toLowerCase();
  if (gitHostOf(provider).signature.type !== "configured" || !keptOfGeneric.includes(hidden)) return headers;
  return { get: (name) => (name.toLowerCase() === hidden ? null : headers.get(name)) };
}
