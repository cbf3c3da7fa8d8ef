/** Figures of the push gateway over time. */
export const gateway = {
  hour: "Last hour",
  day: "Last day",
  period: "Period",
  connections: "Connections",
  messages: "Messages",
  connectionFigures: "{now} now, at most {most}",
  mostConnections: "at most {most}",
  messageFigures: { one: "{count} message", other: "{count} messages" },
  noFigures: "The first figures appear after a minute.",
  away: "The gateway has not answered for more than a minute.",
  gap: "Gaps: no server ran, or the gateway did not answer.",
  sum: { one: "Figures of {count} gateway.", other: "Sum of {count} gateways." },
} as const;
