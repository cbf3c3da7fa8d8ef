/** Figures of the push gateway and of deliveries. */
export const gateway = {
  deliveriesInDay: {
    one: "{count} delivery in the last 24 hours",
    other: "{count} deliveries in the last 24 hours",
  },
  dayAgo: "24 h ago",
  now: "now",
  statusCount: "{state} {count}",
  hour: "{from}–{to}: {parts}",
  nothing: "nothing",
  connections: "connections",
  messagesPerSecond: "messages per second",
} as const;
