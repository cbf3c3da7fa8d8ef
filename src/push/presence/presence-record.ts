import { isTextList } from "../message/message.ts";

/**
 * A user who is present on the gateway or in a channel: `<channel>\n<userId>`, with an empty channel for the gateway. An
 * empty user stands for the channel as a whole, which has a member. A channel name has no line break.
 */
export type PresentName = string;

export function presentName(channel: string, userId: string): PresentName {
  return `${channel}\n${userId}`;
}

export function readPresentName(name: PresentName): { channel: string; userId: string } {
  const end = name.indexOf("\n");
  return { channel: name.slice(0, end), userId: name.slice(end + 1) };
}

/** What a process appends to the log `control` about those connected to it, and about other processes. */
export type PresenceRecord = {
  /** Identifies the process by its start. */
  process: string;
  /** Name of its instance. */
  instance: string;
  /** Milliseconds since 1970; only differences count. */
  at: number;
} & PresenceChange;

export type PresenceChange =
  /** The process begins, with nobody connected. Also after it may have missed records. */
  | { kind: "started" }
  | { kind: "ended" }
  /** The process still runs. */
  | { kind: "beat" }
  /** The first connection of a name to the process, and the end of the last one. A name in both lists came, then left. */
  | { kind: "changes"; joined: PresentName[]; left: PresentName[] }
  /** Everybody connected to the process, in parts. */
  | { kind: "list"; part: number; parts: number; names: PresentName[] }
  /** No record of `evicted` arrived for a while. `seen` is the offset of its last one. */
  | { kind: "evict"; evicted: string; seen: number }
  /** The events up to this record have reached this destination. */
  | { kind: "reported"; to: EventDestination; upTo: number }
  /** The whole state at an offset, in parts, for those who read the log from a later offset. */
  | { kind: "snapshot"; offset: number; part: number; parts: number; state: SnapshotPart };

/** Parts of a snapshot; their lists are put together. */
export interface SnapshotPart {
  processes: SnapshotProcess[];
  /** Names whose last connection ended, and who are not reported yet. */
  leaving: [name: PresentName, since: number, cause: string][];
  unwritten: PresenceReport[];
  /** The time of the snapshot. */
  time: number;
  reportedUpTo: ReportedUpTo;
}

export interface SnapshotProcess {
  process: string;
  instance: string;
  since: number;
  seen: number;
  names: PresentName[];
}

/** Where events go: the topic `<prefix>.events`, and push.events-uri. */
export type EventDestination = "queue" | "uri";

/** For each destination the offset of the record whose events it has received; absent: of none. */
export type ReportedUpTo = Partial<Record<EventDestination, number>>;

/** An event for one destination. */
export interface PresenceReport {
  to: EventDestination;
  type: "online" | "offline";
  /** Empty: the gateway. */
  channel: string;
  /** Empty: the channel as a whole. */
  userId: string;
  /** Id of the record that changed the state; all instances derive the same event id from it. */
  cause: string;
  /** Offset of the record with which the event became certain. */
  offset: number;
  at: number;
}

/** Null: not a presence record. */
export function readPresenceRecord(value: Record<string, unknown>): PresenceRecord | null {
  const { process, instance, at } = value;
  if (typeof process !== "string" || typeof instance !== "string" || typeof at !== "number") return null;
  return hasFieldsOfKind(value) ? (value as PresenceRecord) : null;
}

function hasFieldsOfKind(value: Record<string, unknown>): boolean {
  switch (value.kind) {
    case "started":
    case "ended":
    case "beat":
      return true;
    case "changes":
      return isTextList(value.joined) && isTextList(value.left);
    case "list":
      return isPart(value) && isTextList(value.names);
    case "evict":
      return typeof value.evicted === "string" && typeof value.seen === "number";
    case "reported":
      return typeof value.upTo === "number";
    case "snapshot":
      return isPart(value) && typeof value.offset === "number" && isSnapshotPart(value.state);
    default:
      return false;
  }
}

function isPart({ part, parts }: Record<string, unknown>): boolean {
  return typeof part === "number" && typeof parts === "number";
}

function isSnapshotPart(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { processes, leaving, unwritten } = value as Record<string, unknown>;
  return Array.isArray(processes) && Array.isArray(leaving) && Array.isArray(unwritten);
}
