import type { LogRecord } from "../../bus/log.ts";
import type { Clock } from "../../clock.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { isConsoleTarget } from "../../model/console-names.ts";
import { isChannelName } from "./channel-name.ts";
import { positionOf } from "./position.ts";
import type { TracedMessage } from "./traced-message.ts";
import { isUserId } from "./user-id.ts";

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
  /** Counts the messages of a process from 1, so that a repeated append is recognised; 0: another service wrote it. */
  seq: number;
  ts: number;
  node: string;
  targetType: TargetType;
  target: string;
  /** Several users, of a message to each of them; `target` is empty then. */
  targets?: readonly string[];
  data: string;
  /** Whether clients are asked to acknowledge it. */
  ack?: true;
  idempotencyKey?: string;
  /** Who chose the idempotency key; callers do not share keys. */
  caller?: string;
}

/** A message as it was read from the log. */
export interface PushedMessage
  extends Pick<BroadcastMessage, "id" | "ts" | "targetType" | "target" | "data"> {
  offset: number;
  /** The users of a message to several; `target` is empty then. */
  targets?: ReadonlySet<string>;
  /** Undefined: it has no idempotency key. */
  idempotencyKey: string | undefined;
  /** Who chose the key; callers do not share keys. */
  caller: string;
  /** How long before it was read it was appended. */
  ageMs: number;
  /** Connections of this process that it was sent to. */
  receivers: number;
  /** Whether clients are asked to acknowledge it. */
  ack: boolean;
  /** What became of it; null: it is not traced. */
  trace: TracedMessage | null;
}

/** `<prefix>.control`: an action that every instance applies to its own connections. */
export type ControlMessage = { v: 1; id: string; node: string } & ControlAction;

export type MessageQuestion = { messageId: string } | { userId: string };

export type ControlAction =
  | {
      type: "kick";
      userId?: string;
      connectionId?: string;
      exceptConsole?: boolean;
      code: number;
      reason: string;
      /** Each process answers with the connections that it closes. */
      isQuestion?: boolean;
    }
  /** Each process answers with its connections. */
  | { type: "askConnections"; userId: string | null }
  /** Each process answers with what it knows about a message, or about the messages to a user. */
  | { type: "askMessages"; question: MessageQuestion }
  /** `to`: the id of the question. */
  | { type: "answer"; to: string; process: string; instance: string; answer: unknown }
  /** A frame of a client for its event stream, which the process has; `stream` is a hash of its name. It answers. */
  | { type: "frame"; process: string; stream: string; text: string }
  | { type: "join"; userId: string; channel: string }
  | { type: "leave"; userId: string; channel: string }
  /** Replaces the user's grants by these names and globs. Connections leave the channels that are no longer granted. */
  | { type: "grant"; userId: string; channels: string[] }
  /** Something that may be used once was used; `key` is a hash of its name. */
  | { type: "use"; key: string }
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

/** A client message as an event for push.events-uri. */
export type ClientMessageEvent = ClientMessage & { type: "message" };

interface EventHead {
  v: 1;
  id: string;
  ts: number;
  /** The instance that sends the event. */
  node: string;
}

/**
 * For other services: a user came online or went offline; came to a presence channel or left it; a channel got its first
 * member or lost its last. `<prefix>.events` carries the first kind alone.
 */
export type PresenceEvent = EventHead &
  (
    | { type: "online" | "offline"; userId: string }
    | { type: "joined" | "left"; channel: string; userId: string }
    | { type: "occupied" | "vacated"; channel: string }
  );

/** Every instance derives the same id from the record that caused the event, so that readers can drop repeats. */
export function presenceEventId(type: PresenceEvent["type"], subject: string, cause: string): string {
  const digest = new Bun.CryptoHasher("sha256").update(`${type}\n${cause}\n${subject}`).digest("hex");
  return `${type}-${digest.slice(0, 32)}`;
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
  clock: Clock;
}

/** Null: neither a complete message nor a bare `{targetType, target, data}`, or too large. */
export function readBroadcast(
  record: LogRecord,
  { maxMessageBytes, reservesConsoleNames, clock }: BroadcastRules,
): PushedMessage | null {
  const { value, offset, ageMs } = record;
  if (!isObject(value)) return null;
  const { targetType, target, data } = value;
  if (!isTargetType(targetType) || typeof data !== "string") return null;
  if (isLongerThan(data, maxMessageBytes)) return null;
  const hasNoTarget = targetType === "all" || value.targets !== undefined;
  if (!hasNoTarget && (typeof target !== "string" || target === "")) return null;
  const name = hasNoTarget || typeof target !== "string" ? "" : target;
  if (value.v === undefined) {
    if (value.targets !== undefined) return null;
    if (reservesConsoleNames && isConsoleTarget(targetType, name)) return null;
    if (targetType === "channel" ? !isChannelName(name) : !hasNoTarget && !isUserId(name)) return null;
    const identifiers = bareIdentifiers(value, record.id);
    if (!identifiers) return null;
    const ts = Math.round(clock.now() - ageMs);
    const received = { offset, ageMs, receivers: 0, ack: false, trace: null };
    return { ...identifiers, caller: "", ts, targetType, target: name, data, ...received };
  }
  if (!isBroadcast(value)) return null;
  const { id, ts, idempotencyKey, caller = "" } = value;
  return {
    id,
    idempotencyKey,
    caller,
    ts,
    targetType,
    target: name,
    ...(value.targets ? { targets: new Set(value.targets) } : {}),
    data,
    offset,
    ageMs,
    receivers: 0,
    ack: value.ack === true,
    trace: null,
  };
}

/**
 * The message's own id serves as its idempotency key too, because its service may write it again. Null: an identifier is
 * malformed.
 */
function bareIdentifiers(
  { id, idempotencyKey }: JsonObject,
  recordId: string,
): Pick<PushedMessage, "id" | "idempotencyKey"> | null {
  const key = idempotencyKey ?? undefined;
  if (key !== undefined && !isShortText(key)) return null;
  if (id === undefined || id === null) return { id: recordId, idempotencyKey: key };
  const given = Number.isSafeInteger(id) ? String(id) : id;
  if (!isShortText(given)) return null;
  return { id: given, idempotencyKey: key ?? `id:${given}` };
}

function isUserType(targetType: unknown): boolean {
  return targetType === "user" || targetType === "temp_user";
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
    (value.targets === undefined || (isUserType(value.targetType) && isTextList(value.targets))) &&
    (value.idempotencyKey === undefined || typeof value.idempotencyKey === "string") &&
    (value.caller === undefined || typeof value.caller === "string")
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
  if (type === "use") return typeof value.key === "string";
  if (type === "askConnections") return userId === null || typeof userId === "string";
  if (type === "askMessages") return isMessageQuestion(value.question);
  if (type === "answer")
    return [value.to, value.process, value.instance].every((field) => typeof field === "string");
  if (type === "frame")
    return [value.process, value.stream, value.text].every((field) => typeof field === "string");
  if (type === "grant") return typeof userId === "string" && isTextList(value.channels);
  if (type === "join" || type === "leave") return typeof userId === "string" && typeof channel === "string";
  if (type !== "kick" || typeof value.code !== "number" || typeof value.reason !== "string") return false;
  return (typeof userId === "string") !== (typeof value.connectionId === "string");
}

function isMessageQuestion(value: unknown): boolean {
  if (!isObject(value)) return false;
  return (typeof value.messageId === "string") !== (typeof value.userId === "string");
}

export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

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

/** Estimated memory of a message besides its text and a fixed part. */
export function targetsBytes({ targets }: Pick<PushedMessage, "targets">): number {
  return targets ? targets.size * 96 : 0;
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

/** A user joined or left a presence channel of the client. A join is told to that user as well. */
export function memberFrame(type: "joined" | "left", channel: string, userId: string): string {
  return JSON.stringify({ type: type === "joined" ? "memberJoined" : "memberLeft", channel, userId });
}

export function errorFrame(code: string, message: string, channel?: string): string {
  return JSON.stringify({ type: "error", code, message, ...(channel === undefined ? {} : { channel }) });
}
