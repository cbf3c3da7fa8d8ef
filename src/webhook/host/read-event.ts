import type { JsonObject } from "../../json.ts";
import type { NormalizedEvent } from "../../model/delivery.ts";
import type { EventKind } from "./payloads.ts";
import type { Provider } from "./providers.ts";
import { repositoryAddressesOf } from "./repository.ts";

/** Read access to headers. */
export interface HeaderValues {
  get(name: string): string | null;
}

/** The first of the headers that is sent and not blank; "" when none is. */
export function firstHeader(headers: HeaderValues, names: readonly string[]): string {
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null && value.trim() !== "") return value.trim();
  }
  return "";
}

/** No Git host sends longer ids. */
const maxDeliveryIdLength = 200;

export function readEvent(provider: Provider, headers: HeaderValues, payload: JsonObject): NormalizedEvent {
  const eventName = firstHeader(headers, provider.eventHeaders);
  const lower = eventName.toLowerCase();
  const events: Readonly<Record<string, EventKind>> = provider.events;
  const kind = Object.hasOwn(events, lower) ? (events[lower] ?? null) : null;
  const event = provider.parse(payload, eventName, kind);
  const ownName = eventName === "" && typeof payload.event === "string" ? payload.event : eventName;
  const repository = repositoryAddressesOf(payload);
  return {
    ...event,
    rawEvent: ownName.slice(0, 100),
    hostDeliveryId: hostDeliveryIdOf(provider, headers),
    ...(repository.length > 0 ? { repository } : {}),
  };
}

export function hostDeliveryIdOf(provider: Provider, headers: HeaderValues): string | null {
  return firstHeader(headers, provider.deliveryIdHeaders).slice(0, maxDeliveryIdLength) || null;
}
