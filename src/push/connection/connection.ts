import type { ServerWebSocket } from "bun";
import type { ChannelGrants } from "./grants.ts";

export type ConnectionKind = "normal" | "temporary";

/** What the gateway uses of a WebSocket of the runtime; other transports implement the same. `data` is the connection. */
export type Socket = Pick<
  ServerWebSocket<Connection>,
  | "data"
  | "readyState"
  | "remoteAddress"
  | "isPaused"
  | "send"
  | "ping"
  | "close"
  | "pause"
  | "resume"
  | "subscriptions"
  | "getBufferedAmount"
> & { subscribe(topic: string): unknown; unsubscribe(topic: string): unknown };

/** What clients do: 40xx: not reconnect unchanged; 41xx and 43xx: back off; 42xx and 1012: reconnect soon. */
export const closeCodes = {
  unsupported: 1003,
  restart: 1012,
  lifetimeReached: 4003,
  kicked: 4004,
  codeExpired: 4005,
  slowConsumer: 4102,
  pongTimeout: 4201,
  tooManyMessages: 4301,
} as const;

/** In reject-mode `close` a refused connection is opened and closed at once with this. */
export interface Rejection {
  closeCode: number;
  reason: string;
}

/** When a connection needs a new code, in times of the steady clock. */
export interface Expiring {
  /** The connection is closed then; 0: never. */
  expiresAtMs: number;
  /** A `slipway.v1` client is asked for a new code then; 0: it was asked, or needs none. */
  refreshAtMs: number;
}

/**
 * The state of one connection. Memory per connection limits their number, so the shape is fixed and small: numbers, shared
 * strings, no closures, no Request.
 */
export class Connection {
  readonly id: string;
  readonly userId: string;
  readonly kind: ConnectionKind;
  readonly isV1: boolean;
  /** The secret name of an event stream; null: a WebSocket. */
  readonly stream: string | null;
  /** Whether it is a view of the console of the deploy service. */
  readonly isConsole: boolean;
  /** Not null: the connection is refused and closes at once; the hub never sees it. */
  readonly rejection: Rejection | null;
  grants: ChannelGrants;
  /** Null until the first channel is joined. */
  channels: Set<string> | null = null;
  /** Channels to join on opening. */
  firstChannels: readonly string[];
  /** The `resume` parameter; null: not given. */
  resumeId: string | null;
  /**
   * Next position to read in the resume ring; -1: live, subscribed to its topics. A new connection is
   * not live before its welcome.
   */
  catchUpPosition = 0;
  openedAtMs = 0;
  lastSeenAtMs = 0;
  nextPingAtMs = 0;
  /** When a temporary connection ends; 0: never. */
  endsAtMs: number;
  expiresAtMs: number;
  refreshAtMs: number;
  /** Frames received in the second `rateSecond`; joins and leaves are counted in `membershipCount`. */
  rateSecond = 0;
  rateCount = 0;
  membershipCount = 0;
  /** Client messages handed to the queue and not yet confirmed. */
  unconfirmed = 0;

  constructor(start: {
    id: string;
    userId: string;
    kind: ConnectionKind;
    isV1: boolean;
    stream: string | null;
    isConsole: boolean;
    grants: ChannelGrants;
    firstChannels: readonly string[];
    resumeId: string | null;
    endsAtMs: number;
    expiresAtMs: number;
    refreshAtMs: number;
    rejection: Rejection | null;
  }) {
    this.id = start.id;
    this.userId = start.userId;
    this.kind = start.kind;
    this.isV1 = start.isV1;
    this.stream = start.stream;
    this.isConsole = start.isConsole;
    this.rejection = start.rejection;
    this.grants = start.grants;
    this.firstChannels = start.firstChannels;
    this.resumeId = start.resumeId;
    this.endsAtMs = start.endsAtMs;
    this.expiresAtMs = start.expiresAtMs;
    this.refreshAtMs = start.refreshAtMs;
  }
}

/** When the connection ends if nothing changes, by the steady clock; 0: never. */
export function endOf({ endsAtMs, expiresAtMs }: Connection): number {
  return endsAtMs > 0 && expiresAtMs > 0 ? Math.min(endsAtMs, expiresAtMs) : endsAtMs + expiresAtMs;
}
