import type { PushedMessage } from "./message.ts";
import { positionOf } from "./position.ts";

/* The frames of `slipway.v1` that the server sends. Those of clients are read in client-messages.ts. */

/** The frame of a pushed message in `slipway.v1`, for each of its targets. */
export function messageFrames({
  id,
  offset,
  targetType,
  data,
  ts,
  ack,
}: PushedMessage): (target: string) => string {
  const head = `{"type":"message","id":${JSON.stringify(id)},"position":"${positionOf(offset, id)}","targetType":"${targetType}","target":`;
  const tail = `,"data":${JSON.stringify(data)},"ts":${ts}${ack ? ',"ack":true' : ""}}`;
  return (target) => head + JSON.stringify(target) + tail;
}

const messageHead = /^\{"type":"message","id":"(?:[^"\\]|\\.)*","position":"([^"]*)"/;

/**
 * The position that a client has after this frame; null: the frame does not change it. A `welcome` that recovers is
 * followed by missed messages, so its `lastId` is ahead of the client.
 */
export function resumePositionOf(frame: string): string | null {
  if (frame.startsWith('{"type":"message"')) return messageHead.exec(frame)?.[1] ?? null;
  if (!frame.startsWith('{"type":"welcome"') && !frame.startsWith('{"type":"position"')) return null;
  const { lastId, recovered } = JSON.parse(frame) as Partial<Welcome>;
  return lastId && recovered !== true ? lastId : null;
}

export interface Welcome {
  connectionId: string;
  userId: string;
  kind: "normal" | "temporary";
  channels: string[];
  /** Whether client messages are accepted (push.accept-client-message). */
  acceptsMessages: boolean;
  /** Interval of the pings, so that a client notices when they stop. */
  pingIntervalMs: number;
  /** When the connection ends without a new code, in milliseconds since the epoch; null: no end. */
  expiresAt: number | null;
  /** True only if no message since the position of `resume` is missing. */
  recovered: boolean;
  /** The position after the newest message: a client that receives no message resumes from it. */
  lastId: string;
  /** Names the event stream when its client sends frames; undefined on a WebSocket. */
  stream?: string;
}

export function welcomeFrame(welcome: Welcome): string {
  return JSON.stringify({ type: "welcome", ...welcome });
}

/** A newer position to resume from, for a client that has received no message for a while. All messages up to it were sent. */
export function positionFrame(lastId: string): string {
  return JSON.stringify({ type: "position", lastId });
}

/** Asks the client for a new code, before its connection ends. */
export function refreshFrame(expiresAt: number): string {
  return JSON.stringify({ type: "refresh", expiresAt });
}

/** The new code was accepted. */
export function refreshedFrame(expiresAt: number | null): string {
  return JSON.stringify({ type: "refreshed", expiresAt });
}

export function joinedFrame(channel: string): string {
  return JSON.stringify({ type: "joined", channel });
}

export function leftFrame(channel: string): string {
  return JSON.stringify({ type: "left", channel });
}

/** A user joined or left a presence channel of the client. The joining user receives the frame too. */
export function memberFrame(type: "joined" | "left", channel: string, userId: string): string {
  return JSON.stringify({ type: type === "joined" ? "memberJoined" : "memberLeft", channel, userId });
}

export function errorFrame(code: string, message: string, channel?: string): string {
  return JSON.stringify({ type: "error", code, message, ...(channel === undefined ? {} : { channel }) });
}
