import type { HandledTip } from "../../model/ref-tip.ts";

/** "shown": evaluated and shown in the trace, without effect. */
type Applies = boolean | "shown";

export interface DeliveryKind {
  /** Whether the webhook must be enabled. */
  enabled: boolean;
  rate: boolean;
  signature: boolean;
  /** Filter step 1: the event must be in `events`. */
  eventList: boolean;
  /** Filter steps 2 to 4, and forks. */
  otherFilters: boolean;
  debounce: Applies;
  queuePolicy: Applies;
  record: boolean;
  task: boolean;
  /** How it changes the tip of its ref; null: not at all. */
  tip: HandledTip["kind"] | null;
  /** Recorded as remote_ip; null: the sender's address. */
  remoteIp: string | null;
}

const replay = {
  enabled: true,
  rate: false,
  signature: false,
  eventList: false,
  otherFilters: true,
  debounce: false,
  queuePolicy: true,
  record: true,
  task: true,
  tip: "replay",
  remoteIp: "replay",
} as const satisfies DeliveryKind;

/** The ways a delivery comes in; all use the same sequence of steps. */
export const deliveryKinds = {
  live: {
    enabled: true,
    rate: true,
    signature: true,
    eventList: true,
    otherFilters: true,
    debounce: true,
    queuePolicy: true,
    record: true,
    task: true,
    tip: "live",
    remoteIp: null,
  },
  dryRun: {
    enabled: false,
    rate: false,
    signature: false,
    eventList: true,
    otherFilters: true,
    debounce: "shown",
    queuePolicy: "shown",
    record: false,
    task: false,
    tip: null,
    remoteIp: null,
  },
  test: {
    enabled: true,
    rate: false,
    signature: false,
    eventList: false,
    otherFilters: false,
    debounce: false,
    queuePolicy: true,
    record: true,
    task: true,
    tip: null,
    remoteIp: "test",
  },
  /** A tip that a poll found at the Git host. */
  poll: {
    enabled: true,
    rate: false,
    signature: false,
    eventList: true,
    otherFilters: true,
    debounce: true,
    queuePolicy: true,
    record: true,
    task: true,
    tip: "poll",
    remoteIp: "poll",
  },
  /** A person chose this delivery. */
  replay,
  /** Nobody chose it individually, or it was refused before its event was checked. */
  judgedReplay: { ...replay, eventList: true },
} as const satisfies Record<string, DeliveryKind>;
