import type { History, PresenceEvent } from "./history.ts";
import { type Violation, violation } from "./violation.ts";

export function checkPresence({ presence, presenceEvents }: History): Violation[] {
  return [
    ...presence.flatMap(({ instance, online, expected }) => {
      const missing = expected.filter((user) => !online.includes(user));
      const extra = online.filter((user) => !expected.includes(user));
      if (missing.length + extra.length === 0) return [];
      const text = `${instance} says ${listed(online)} are online; missing ${listed(missing)}, too many ${listed(extra)}`;
      return [violation("presence-diverges", text)];
    }),
    ...checkEvents(presenceEvents, presence[0]?.expected ?? []),
  ];
}

function checkEvents(events: PresenceEvent[], expected: string[]): Violation[] {
  const found: Violation[] = [];
  const seenIds = new Set<string>();
  const last = new Map<string, PresenceEvent>();
  for (const event of events) {
    if (seenIds.has(event.id)) continue;
    seenIds.add(event.id);
    const before = last.get(event.userId);
    if (before?.type === event.type)
      found.push(
        violation(
          "presence-event-repeated",
          `${event.type} of ${event.userId} as ${before.id} and again as ${event.id}`,
        ),
      );
    last.set(event.userId, event);
  }
  for (const [userId, event] of last)
    if ((event.type === "online") !== expected.includes(userId))
      found.push(violation("presence-event-lost", `the last event of ${userId} is ${event.type}`));
  return found;
}

function listed(names: string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}
