import type { ServerWebSocket } from "bun";
import type { ChannelGrants } from "./grants.ts";

export type ConnectionKind = "normal" | "temporary";

/** The runtime's socket with its connection in `data`. */
export type Socket = ServerWebSocket<Connection>;

/** Close codes of our own; 40xx: do not reconnect unchanged, 41xx and 43xx: back off, 42xx and 1012: soon. */
export const closeCodes = {
  unsupported: 1003,
  restart: 1012,
  lifetimeReached: 4003,
  kicked: 4004,
  slowConsumer: 4102,
  pongTimeout: 4201,
  tooManyMessages: 4301,
} as const;

/** Why a connection that was refused closes at once, in reject-mode `close`. */
export interface Rejection {
  closeCode: number;
  reason: string;
}

/**
 * One connection. There are many of them, so the shape is fixed and small: numbers, shared strings, no closures, no
 * Request. Sets are made only for those that join channels.
 */
export class Connection {
  readonly id: string;
  readonly userId: string;
  readonly kind: ConnectionKind;
  readonly isV1: boolean;
  /** Whether it belongs to the console of the deploy service. */
  readonly isConsole: boolean;
  /** Set for a socket that was upgraded only to be told why it is refused: it never enters the hub. */
  readonly rejection: Rejection | null;
  grants: ChannelGrants;
  /** Null until the first channel is joined. */
  channels: Set<string> | null = null;
  /** Channels to join on opening. */
  firstChannels: readonly string[];
  /** The id given in `resume`; null when the client did not ask. */
  resumeId: string | null;
  /** Position in the resume ring while missed messages are still being sent; -1 once it hears live ones. */
  resumeAt = -1;
  openedAtMs = 0;
  lastSeenAtMs = 0;
  nextPingAtMs = 0;
  /** When a temporary connection ends; 0: never. */
  endsAtMs: number;
  /** Frames received in the second `rateSecond`; joins and leaves are counted apart. */
  rateSecond = 0;
  rateCount = 0;
  moveCount = 0;
  /** Client messages handed to the queue and not yet confirmed. */
  unconfirmed = 0;

  constructor(start: {
    id: string;
    userId: string;
    kind: ConnectionKind;
    isV1: boolean;
    isConsole: boolean;
    grants: ChannelGrants;
    firstChannels: readonly string[];
    resumeId: string | null;
    endsAtMs: number;
    rejection: Rejection | null;
  }) {
    this.id = start.id;
    this.userId = start.userId;
    this.kind = start.kind;
    this.isV1 = start.isV1;
    this.isConsole = start.isConsole;
    this.rejection = start.rejection;
    this.grants = start.grants;
    this.firstChannels = start.firstChannels;
    this.resumeId = start.resumeId;
    this.endsAtMs = start.endsAtMs;
  }
}
