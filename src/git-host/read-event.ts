import type { JsonObject } from "../json.ts";
import type { NormalizedEvent } from "../model/delivery.ts";
import { firstHeader, type HeaderValues } from "./delivery/headers.ts";
import type { EventKind } from "./delivery/payloads.ts";
import { repositoryAddressesOf } from "./delivery/repository.ts";
import type { GitHost } from "./hosts.ts";

/** No Git host sends longer ids. */
const maxDeliveryIdLength = 200;

export function readEvent(provider: GitHost, headers: HeaderValues, payload: JsonObject): NormalizedEvent {
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

export function hostDeliveryIdOf(provider: GitHost, headers: HeaderValues): string | null {
  return firstHeader(headers, provider.deliveryIdHeaders).slice(0, maxDeliveryIdLength) || null;
}
