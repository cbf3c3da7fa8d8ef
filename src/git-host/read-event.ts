import type { JsonObject } from "../json.ts";
import type { NormalizedEvent } from "./delivery/event.ts";
import { firstHeader, type HeaderValues } from "./delivery/headers.ts";
import { parseHostPayload } from "./delivery/payloads.ts";
import { repositoryAddressesOf } from "./delivery/repository.ts";
import type { GitHost } from "./git-host.ts";

/** No Git host sends longer ids. */
const maxDeliveryIdLength = 200;

export function readEvent(host: GitHost, headers: HeaderValues, payload: JsonObject): NormalizedEvent {
  const eventName = firstHeader(headers, host.eventHeaders);
  const lower = eventName.toLowerCase();
  const kind = Object.hasOwn(host.events, lower) ? (host.events[lower] ?? null) : null;
  const event = (host.parse ?? parseHostPayload)(payload, eventName, kind);
  const ownName = eventName === "" && typeof payload.event === "string" ? payload.event : eventName;
  const repository = repositoryAddressesOf(payload);
  return {
    ...event,
    rawEvent: ownName.slice(0, 100),
    hostDeliveryId: hostDeliveryIdOf(host, headers),
    ...(repository.length > 0 ? { repository } : {}),
  };
}

export function hostDeliveryIdOf(host: GitHost, headers: HeaderValues): string | null {
  return firstHeader(headers, host.deliveryIdHeaders).slice(0, maxDeliveryIdLength) || null;
}
