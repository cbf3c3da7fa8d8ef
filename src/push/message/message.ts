import { createHash } from "node:crypto";
import { isConsoleTarget } from "../../model/console-names.ts";

/**
 * What travels on the bus, and what a `slipway.v1` client reads. Everything that arrives is `unknown` until it is read
 * here: other services write to the queue too.
 */
export const targetTypes = ["all", "user", "temp_user", "channel"] as const;
export type TargetType = (typeof targetTypes)[number];

export function isTargetType(value: unknown): value is TargetType {
  return value === "user" || value === "channel" || value === "all" || value === "temp_user";
}

/** `<prefix>.broadcast`: one published message on its way to every instance. */
export interface BroadcastMessage {
  v: 1;
  id: string;
  /** Counts per node from 1, so that a gap is seen; 0 where another service wrote without one. */
  seq: number;
  ts: number;
  node: string;
  targetType: TargetType;
  target: string;
  data: string;
  idempotencyKey?: string;
}

/** `<prefix>.control`: what every instance does to its own connections. */
export type ControlMessage = { v: 1; id: string; node: string } & ControlAction;

export type ControlAction =
  | { type: "kick"; userId?: string; connectionId?: string; code: number; reason: string }
  | { type: "join"; userId: string; channel: string }
  /** With `revoke`, `channel` may be a glob, and the right to join again goes too. */
  | { type: "leave"; userId: string; channel: string; revoke: boolean }
  /** From now on exactly these names and globs; what is no longer among them is left. */
  | { type: "grant"; userId: string; channels: string[] }
  /** Read by presence alone; its fields are presence's own. */
  | { type: "presence"; [field: string]: unknown };

/** `<prefix>.client`: a message that a client sent. */
export interface ClientMessage {
  v: 1;
  id: string;
  ts: number;
  node: string;
  connectionId: string;
  userId: string;
  kind: "normal" | "temporary";
  data: string;
}

/** `<prefix>.events`: informs other services that a user came online or went offline. */
export interface PresenceEvent {
  v: 1;
  id: string;
  ts: number;
  node: string;
  type: "online" | "offline";
  userId: string;
}

/** All instances derive the same id for an event, so that readers can drop duplicates. */
export function presenceEventId(type: PresenceEvent["type"], userId: string, occasion: number): string {
  const digest = createHash("sha256").update(`${type}\n${occasion}\n${userId}`).digest("hex");
  return `${type}-${digest.slice(0, 32)}`;
}

/** Order is kept per key. */
export function keyOf(targetType: TargetType, target: string): string {
  return `${targetType}:${target}`;
}

/** Counts only where it must: no text has more than three bytes for each unit of its length. */
export function isLongerThan(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}

/** Limit of ids and idempotency keys. */
export const maxIdLength = 255;

export interface BroadcastRules {
  maxMessageBytes: number;
  /** Whether bare messages to channels and users of the console are invalid: only the deploy service publishes to them. */
  reservesConsoleNames: boolean;
  /** Gives an id to bare messages without one. */
  identify: () => { id: string; ts: number };
}

/** Answers null for anything that is no message of ours nor a bare `{targetType, target, data}`, or too large. */
export function readBroadcast(
  value: unknown,
  { maxMessageBytes, reservesConsoleNames, identify }: BroadcastRules,
): BroadcastMessage | null {
  if (!isRecord(value)) return null;
  const { targetType, target, data } = value;
  if (!isTargetType(targetType) || typeof data !== "string") return null;
  if (isLongerThan(data, maxMessageBytes)) return null;
  const isToAll = targetType === "all";
  if (!isToAll && (typeof target !== "string" || target === "")) return null;
  const where = isToAll || typeof target !== "string" ? "" : target;
  if (value.v === undefined) {
    if (reservesConsoleNames && isConsoleTarget(targetType, where)) return null;
    const identity = bareIdentityOf(value, identify);
    return identity && { v: 1, ...identity, seq: 0, node: "", targetType, target: where, data };
  }
  return isBroadcast(value) ? value : null;
}

/**
 * All instances must use the same id for a message, or a resume on another instance does not find it. `id` is the message's
 * own or the broker's; without both, the idempotency key identifies the message. Null: one of them is malformed.
 */
function bareIdentityOf(
  { id, idempotencyKey }: Record<string, unknown>,
  identify: BroadcastRules["identify"],
): Pick<BroadcastMessage, "id" | "ts" | "idempotencyKey"> | null {
  const made = identify();
  const hasKey = idempotencyKey !== undefined && idempotencyKey !== null;
  if (hasKey && !isShortText(idempotencyKey)) return null;
  const key = hasKey ? { idempotencyKey } : {};
  const given = Number.isSafeInteger(id) ? String(id) : id;
  if (isShortText(given)) return { ...made, id: given, ...key };
  if (given !== undefined && given !== null) return null;
  return hasKey ? { ...made, id: `key:${idempotencyKey}`, ...key } : made;
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxIdLength;
}

function isBroadcast(value: Record<string, unknown>): value is Record<string, unknown> & BroadcastMessage {
  return (
    value.v === 1 &&
    typeof value.id === "string" &&
    value.id !== "" &&
    typeof value.ts === "number" &&
    typeof value.seq === "number" &&
    typeof value.node === "string" &&
    typeof value.target === "string" &&
    (value.idempotencyKey === undefined || typeof value.idempotencyKey === "string")
  );
}

export function readControl(value: unknown): ControlMessage | null {
  if (!isRecord(value) || value.v !== 1) return null;
  if (typeof value.id !== "string" || typeof value.node !== "string") return null;
  return isControlAction(value) ? (value as ControlMessage) : null;
}

function isControlAction(value: Record<string, unknown>): boolean {
  const { type, userId, channel } = value;
  if (type === "presence") return true;
  if (type === "grant") return typeof userId === "string" && isTextList(value.channels);
  if (type === "join") return typeof userId === "string" && typeof channel === "string";
  if (type === "leave")
    return typeof userId === "string" && typeof channel === "string" && typeof value.revoke === "boolean";
  if (type !== "kick" || typeof value.code !== "number" || typeof value.reason !== "string") return false;
  return (typeof userId === "string") !== (typeof value.connectionId === "string");
}

export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The frame of a pushed message in `slipway.v1`. */
export function messageFrame({ id, targetType, target, data, ts }: BroadcastMessage): string {
  return `{"type":"message","id":${JSON.stringify(id)},"targetType":"${targetType}","target":${JSON.stringify(target)},"data":${JSON.stringify(data)},"ts":${ts}}`;
}

export interface Welcome {
  connectionId: string;
  userId: string;
  kind: "normal" | "temporary";
  channels: string[];
  /** Whether client messages are accepted (push.accept-client-message). */
  acceptsMessages: boolean;
  /** How often a ping comes, so that a client can notice its absence. */
  pingIntervalMs: number;
  /** When a temporary connection ends, in milliseconds since the epoch; null: no end. */
  expiresAt: number | null;
  /** True only when nothing can be missing since the id given in `resume`. */
  recovered: boolean;
  /** Newest message known here: where a client that has received nothing yet resumes from. */
  lastId: string | null;
}

export function welcomeFrame(welcome: Welcome): string {
  return JSON.stringify({ type: "welcome", ...welcome });
}

/** Where a client resumes that has heard nothing for a while: all that was for it up to here was sent before. */
export function positionFrame(lastId: string): string {
  return JSON.stringify({ type: "position", lastId });
}

export function joinedFrame(channel: string): string {
  return JSON.stringify({ type: "joined", channel });
}

export function leftFrame(channel: string): string {
  return JSON.stringify({ type: "left", channel });
}

export function errorFrame(code: string, message: string, channel?: string): string {
  return JSON.stringify({ type: "error", code, message, ...(channel === undefined ? {} : { channel }) });
}
