/** Times and durations beyond those that Intl writes. */
export const time = {
  justNow: "just now",
  inFuture: "in {duration}",
} as const;
