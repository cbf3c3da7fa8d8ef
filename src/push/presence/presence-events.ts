import type { Bus } from "../../bus/bus.ts";
import { type PresenceEvent, presenceEventId } from "../message/message.ts";
import type { PresenceReport } from "./presence-record.ts";

/** Writes presence events for other services. Rejects if one could not be written. */
export function presenceEventsOver(outbound: Bus, node: string) {
  return async (reports: readonly PresenceReport[]): Promise<void> => {
    const writing = reports.map(({ type, userId, cause, at }) => {
      const id = presenceEventId(type, userId, cause);
      const event: PresenceEvent = { v: 1, id, ts: at, node, type, userId };
      return outbound.publish("events", userId, event);
    });
    await Promise.all(writing);
  };
}
