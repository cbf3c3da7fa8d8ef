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
    ...(presenceEvents === null ? [] : checkEvents(presenceEvents, presence[0]?.expected ?? [])),
  ];
}

function checkEvents(events: PresenceEvent[], expected: string[]): Violation[] {
  const found: Violation[] = [];
  const seen = new Map<string, PresenceEvent>();
  const last = new Map<string, PresenceEvent>();
  for (const event of events) {
    const same = seen.get(event.id);
    if (same && (same.type !== event.type || same.userId !== event.userId))
      found.push(
        violation(
          "presence-event-repeated",
          `${event.id} is ${same.type} of ${same.userId} and ${event.type} of ${event.userId}`,
        ),
      );
    if (same) continue;
    seen.set(event.id, event);
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
  for (const userId of new Set([...last.keys(), ...expected])) {
    const type = last.get(userId)?.type;
    if ((type === "online") !== expected.includes(userId))
      found.push(violation("presence-event-lost", `the last event of ${userId} is ${type ?? "missing"}`));
  }
  return found;
}

function listed(names: string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}
