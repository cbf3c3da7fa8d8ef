/** The types of the client. */

import type { SessionStore } from "./kept-session.ts";
import type { Transport } from "./transport.ts";
import type { SocketClass } from "./websocket-transport.ts";

/** connecting: a handshake is running · waiting: the next attempt is scheduled · closed: no attempt before `open()`. */
export type PushState = "connecting" | "open" | "waiting" | "closed";

export interface PushMessage {
  id: string;
  targetType: "all" | "user" | "temp_user" | "channel";
  target: string;
  data: string;
  /** When it was published, in milliseconds since the epoch. */
  ts: number;
}

export interface PushStatus {
  state: PushState;
  /** Why the client waits or is closed, as a readable text. */
  reason: string;
  closeCode: number | null; // Of the last connection; null before the first close.
  /** When the next attempt starts, in milliseconds since the epoch; only while waiting. */
  retryAt: number | null;
}

export interface PushOpened {
  connectionId: string;
  userId: string;
  /** False on the first connection, true on each later one, and on the first one of a page that resumes with `resumeKey`. */
  reconnected: boolean;
  /** True only if no message since the last connection can be missing. If false, load your data again. */
  recovered: boolean;
  /** `websocket`, `sse`, or the name of another transport. */
  transport: string;
}

export interface PushProblem {
  code: string;
  message: string;
  channel: string | null;
}

export interface PushEvents {
  status: PushStatus;
  open: PushOpened;
  message: PushMessage;
  joined: string;
  left: string;
  /** In channels whose names start with `presence-`. */
  member: { type: "joined" | "left"; channel: string; userId: string };
  problem: PushProblem;
}

export interface PushOptions {
  /** `wss://host/ws`; `https://…` means the same. */
  url: string;
  /** Called for each attempt, because codes are single-use. Null ends the attempts: no user is signed in. */
  code: () => Promise<string | null> | string | null;
  temporary?: boolean;
  channels?: string[];
  /** First and longest pause between attempts; the actual pause is a random time between half of it and all of it. */
  minDelayMs?: number;
  maxDelayMs?: number;
  connectTimeoutMs?: number;
  /** After this long without a frame a heartbeat is sent; without a reply within heartbeatTimeoutMs the client reconnects. */
  heartbeatIntervalMs?: number;
  heartbeatTimeoutMs?: number;
  heartbeatContent?: string;
  /** While WebSockets are refused: the pause until one is tried again. Each further pause is twice as long, up to ten minutes. */
  upgradeRetryMs?: number;
  random?: () => number;
  /** Keeps position and channels under this name in `sessionStorage`, so that a reloaded page resumes. */
  resumeKey?: string;
  /** Instead of `sessionStorage`. */
  sessionStore?: SessionStore;
  /** Instead of the global WebSocket. */
  webSocket?: SocketClass;
  /** Instead of WebSockets and event streams. */
  transport?: Transport;
}
