import type { HandledTip } from "../../model/ref-tip.ts";

/** The steps that a kind of delivery runs. "shown": evaluated and shown in the trace, without effect. */
export interface DeliveryKind {
  /** Whether the webhook must be enabled. */
  enabled: boolean;
  rate: boolean;
  /** Filter step 1: the event must be in `events`. */
  eventList: boolean;
  /** Filter steps 2 to 4, and forks. */
  otherFilters: boolean;
  debounce: boolean | "shown";
  queuePolicy: true | "shown";
  task: boolean;
  /** How it changes the tip of its ref; null: not at all. */
  tip: HandledTip["kind"] | null;
  /** Recorded as remote_ip; null: the sender's address. */
  remoteIp: string | null;
}

const live = {
  enabled: true,
  rate: true,
  eventList: true,
  otherFilters: true,
  debounce: true,
  queuePolicy: true,
  task: true,
  tip: "live",
  remoteIp: null,
} as const satisfies DeliveryKind;

const unlimited = { ...live, rate: false } as const;
const replay = {
  ...unlimited,
  eventList: false,
  debounce: false,
  tip: "replay",
  remoteIp: "replay",
} as const;
const shown = { debounce: "shown", queuePolicy: "shown", task: false, tip: null } as const;

export const deliveryKinds = {
  live,
  dryRun: { ...unlimited, ...shown, enabled: false },
  test: { ...replay, otherFilters: false, tip: null, remoteIp: "test" },
  /** A tip that a poll found at the Git host. */
  poll: { ...unlimited, tip: "poll", remoteIp: "poll" },
  /** A person chose this delivery. */
  replay,
  /** Nobody chose it individually, or it was refused before its event was checked. */
  judgedReplay: { ...replay, eventList: true },
} as const satisfies Record<string, DeliveryKind>;
