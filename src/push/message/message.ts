import { isObject, type JsonObject } from "../../json.ts";
import { isConsoleTarget } from "../../model/console-names.ts";
import { isChannelName } from "./channel-name.ts";

/**
 * The messages on the bus and the frames of `slipway.v1`. A received value is `unknown` until it is validated here,
 * because other services write to the queue too.
 */
export const targetTypes = ["all", "user", "temp_user", "channel"] as const;
export type TargetType = (typeof targetTypes)[number];

export function isTargetType(value: unknown): value is TargetType {
  return value === "user" || value === "channel" || value === "all" || value === "temp_user";
}

/** `<prefix>.broadcast`: a published message; every instance receives it. */
export interface BroadcastMessage {
  v: 1;
  id: string;
  /** Counts per node from 1, so that receivers detect gaps; 0: another service wrote the message. */
  seq: number;
  ts: number;
  node: string;
  targetType: TargetType;
  target: string;
  data: string;
  idempotencyKey?: string;
}

/** `<prefix>.control`: an action that every instance applies to its own connections. */
export type ControlMessage = { v: 1; id: string; node: string } & ControlAction;

export type ControlAction =
  | {
      type: "kick";
      userId?: string;
      connectionId?: string;
      exceptConsole?: boolean;
      code: number;
      reason: string;
    }
  | { type: "join"; userId: string; channel: string }
  /** `revoke` has no effect; earlier versions require the field. */
  | { type: "leave"; userId: string; channel: string; revoke: false }
  /** Replaces the user's grants by these names and globs. Connections leave the channels that are no longer granted. */
  | { type: "grant"; userId: string; channels: string[] }
  /** The other fields are defined in `presence/`. */
  | { type: "presence"; [field: string]: unknown };

/** `<prefix>.client`: a message from a client. */
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
  const digest = new Bun.CryptoHasher("sha256").update(`${type}\n${occasion}\n${userId}`).digest("hex");
  return `${type}-${digest.slice(0, 32)}`;
}

/** The bus keeps the order of messages with the same key. */
export function orderingKey(targetType: TargetType, target: string): string {
  return `${targetType}:${target}`;
}

/** Measures only if the length leaves a doubt: a UTF-16 unit has at most three bytes in UTF-8. */
export function isLongerThan(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}

/** Limit of ids and idempotency keys. */
export const maxIdLength = 255;

export interface BroadcastRules {
  maxMessageBytes: number;
  /** Whether bare messages to channels and users of the console are invalid; only the deploy service publishes to them. */
  reservesConsoleNames: boolean;
  /** Generates the id and time of a bare message without an id. */
  newIdAndTime: () => { id: string; ts: number };
}

/** Null: neither a complete message nor a bare `{targetType, target, data}`, or too large. */
export function readBroadcast(
  value: unknown,
  { maxMessageBytes, reservesConsoleNames, newIdAndTime }: BroadcastRules,
): BroadcastMessage | null {
  if (!isObject(value)) return null;
  const { targetType, target, data } = value;
  if (!isTargetType(targetType) || typeof data !== "string") return null;
  if (isLongerThan(data, maxMessageBytes)) return null;
  const isToAll = targetType === "all";
  if (!isToAll && (typeof target !== "string" || target === "")) return null;
  const name = isToAll || typeof target !== "string" ? "" : target;
  if (value.v === undefined) {
    if (reservesConsoleNames && isConsoleTarget(targetType, name)) return null;
    if (targetType === "channel" && !isChannelName(name)) return null;
    const identifiers = bareIdentifiers(value, newIdAndTime());
    return identifiers && { v: 1, ...identifiers, seq: 0, node: "", targetType, target: name, data };
  }
  return isBroadcast(value) ? value : null;
}

/**
 * All instances must use the same id for a message, or a resume on another instance does not find it. `id` comes from the
 * message or the broker; without it, the idempotency key identifies the message. Null: an identifier is malformed.
 */
function bareIdentifiers(
  { id, idempotencyKey }: JsonObject,
  generated: { id: string; ts: number },
): Pick<BroadcastMessage, "id" | "ts" | "idempotencyKey"> | null {
  const hasKey = idempotencyKey !== undefined && idempotencyKey !== null;
  if (hasKey && !isShortText(idempotencyKey)) return null;
  const key = hasKey ? { idempotencyKey } : {};
  const given = Number.isSafeInteger(id) ? String(id) : id;
  if (isShortText(given)) return { ...generated, id: given, ...key };
  if (given !== undefined && given !== null) return null;
  return hasKey ? { ...generated, id: `key:${idempotencyKey}`, ...key } : generated;
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxIdLength;
}

function isBroadcast(value: JsonObject): value is JsonObject & BroadcastMessage {
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
  if (!isObject(value) || value.v !== 1) return null;
  if (typeof value.id !== "string" || typeof value.node !== "string") return null;
  return isControlAction(value) ? (value as ControlMessage) : null;
}

function isControlAction(value: JsonObject): boolean {
  const { type, userId, channel } = value;
  if (type === "presence") return true;
  if (type === "grant") return typeof userId === "string" && isTextList(value.channels);
  if (type === "join" || type === "leave") return typeof userId === "string" && typeof channel === "string";
  if (type !== "kick" || typeof value.code !== "number" || typeof value.reason !== "string") return false;
  return (typeof userId === "string") !== (typeof value.connectionId === "string");
}

export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
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
  /** Interval of the pings, so that a client notices when they stop. */
  pingIntervalMs: number;
  /** When a temporary connection ends, in milliseconds since the epoch; null: no end. */
  expiresAt: number | null;
  /** True only if no message since the `resume` id can be missing. */
  recovered: boolean;
  /** Id of the newest message: a client that has received no message resumes from it. */
  lastId: string | null;
}

export function welcomeFrame(welcome: Welcome): string {
  return JSON.stringify({ type: "welcome", ...welcome });
}

/** A newer id to resume from, for a client that has received no message for a while. All messages up to it were sent. */
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
