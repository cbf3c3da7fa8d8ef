import type { WebhookConfig } from "../../model/webhook-config.ts";
import { type Provider, providerOf, providers } from "./providers.ts";
import type { HeaderValues } from "./read-event.ts";

const alwaysKept = ["content-type", "content-encoding", "user-agent"] as const;

/** Headers that records of a generic sender keep, in lower case: none of them may be the place of its secret. */
export const keptOfGeneric: readonly string[] = [
  ...alwaysKept,
  ...providers.generic.deliveryIdHeaders.map((name) => name.toLowerCase()),
];

/** Never a header that may carry a secret: only those named here, and the host's event and delivery id. */
export function keptHeaders(headers: HeaderValues, provider?: Provider): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const names of [alwaysKept, provider?.eventHeaders ?? [], provider?.deliveryIdHeaders ?? []])
    for (const name of names) {
      const value = headers.get(name);
      if (value !== null) kept[name.toLowerCase()] = value.slice(0, 300);
    }
  return kept;
}

/** The headers to record and to read events from: a configuration of old may have its secret in one of those kept. */
export function withoutSecret(
  headers: HeaderValues,
  { provider, secretHeader }: Pick<WebhookConfig, "provider" | "secretHeader">,
): HeaderValues {
  const hidden = secretHeader.toLowerCase();
  if (providerOf(provider).signature.type !== "configured" || !keptOfGeneric.includes(hidden)) return headers;
  return { get: (name) => (name.toLowerCase() === hidden ? null : headers.get(name)) };
}
