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
  many: "Replay these…",
  manyTitle: "Replay the filtered deliveries",
  manyText:
    "The list has the latest delivery of each branch or tag, at most one hundred at a time, and what it would do by the current rules. Those that would start a deploy are selected.",
  manyFailed: "Couldn't replay the deliveries",
  list: "Expected outcomes",
  found: { one: "{count} delivery found.", other: "{count} deliveries found." },
  would: { one: "{count} would start a deploy.", other: "{count} would start a deploy." },
  all: "Select all",
  choose: "Replay delivery {id} of {ref}",
  skip: "Skip these",
  older: {
    one: "{count} is an older one of the same ref.",
    other: "{count} are older ones of the same refs.",
  },
  overtakenCount: {
    one: "{count} has a newer delivery of its ref, or its ref was deleted.",
    other: "{count} have newer deliveries of their refs, or their refs were deleted.",
  },
  unverified: { one: "The signature of {count} had failed.", other: "The signatures of {count} had failed." },
  nothing: { one: "{count} has nothing to build.", other: "{count} have nothing to build." },
  left: { one: "{count} more ref follows.", other: "{count} more refs follow." },
  cut: "Only the newest deliveries were checked: narrow the filters for older ones.",
  cancel: "Cancel",
  start: { one: "Replay {count} delivery", other: "Replay {count} deliveries" },
  manyDone: { one: "{count} delivery was replayed.", other: "{count} deliveries were replayed." },
  manyPartly: {
    one: "{count} delivery could not be replayed: {problem}",
    other: "{count} deliveries could not be replayed, the first one because: {problem}",
  },
} as const;
