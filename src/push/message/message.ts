import type { LogRecord } from "../../bus/log.ts";
import { isReadableVersion } from "../../bus/record-version.ts";
import type { Clock } from "../../clock.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { isConsoleTarget } from "../../model/console/console-names.ts";
import { isChannelName } from "./channel-name.ts";
import type { TracedMessage } from "./traced-message.ts";
import { isUserId } from "./user-id.ts";

/**
 * Published messages as the log has them. A received value is `unknown` until it is validated here, because other services
 * write to the queue too.
 */
export const targetTypes = ["all", "user", "temp_user", "channel"] as const;
export type TargetType = (typeof targetTypes)[number];

export function isTargetType(value: unknown): value is TargetType {
  return value === "user" || value === "channel" || value === "all" || value === "temp_user";
}

/** `<prefix>.broadcast`: a published message; every instance receives it. */
export interface BroadcastMessage {
  v: number;
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
  /** The span of the publish; absent: it is not traced. */
  traceparent?: string;
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
  /** The span of the publish; absent: it has none. */
  traceparent?: string;
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
  const { id, ts, idempotencyKey, caller = "", traceparent } = value;
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
    ...(traceparent === undefined ? {} : { traceparent }),
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
    isReadableVersion(value.v) &&
    typeof value.id === "string" &&
    value.id !== "" &&
    typeof value.ts === "number" &&
    typeof value.seq === "number" &&
    typeof value.node === "string" &&
    typeof value.target === "string" &&
    (value.targets === undefined || (isUserType(value.targetType) && isTextList(value.targets))) &&
    (value.idempotencyKey === undefined || typeof value.idempotencyKey === "string") &&
    (value.caller === undefined || typeof value.caller === "string") &&
    (value.traceparent === undefined || typeof value.traceparent === "string")
  );
}

export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

/** Estimated memory of a message besides its text and a fixed part. */
export function targetsBytes({ targets }: Pick<PushedMessage, "targets">): number {
  return targets ? targets.size * 96 : 0;
}
