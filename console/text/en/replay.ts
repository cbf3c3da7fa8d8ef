/** Replaying deliveries. */
export const replay = {
  one: "Replay the delivery",
  oneTitle: "Replay delivery {id}?",
  oneForce: "Replay it although its signature failed",
  oneDone: "Replayed as delivery {id}: {outcome}",
  oneFailed: "Couldn't replay delivery {id}",
  oneText:
    "The current rules are applied again, without signature, debounce and event list. It may start a deploy.",
  oneTextUnjudged:
    "The current rules are applied again, without signature and debounce. It may start a deploy.",
  oneOlder:
    "{serving} was deployed after this delivery arrived and serves now. The replay deploys {commit}, which is probably older.",
  oneUnverified: "Its signature failed: the sender is unknown. Replay it only if you know who sent it.",
} as const;
