import { isObject, type JsonObject } from "../../json.ts";
import { isTextList } from "../message/message.ts";

/** Shows that two lists of users differ, without sending them. */
export interface Digest {
  users: number;
  /** Exclusive or of the hashes of all user ids, so that each change updates it. */
  hash: number;
}

/** The process that sent a note. `startedAt` orders instances by age. */
interface Sender {
  boot: string;
  startedAt: number;
  /** False: it may lack reports of others, and publishes no events until it has them. */
  mayTell?: boolean;
  /** True: it announces reports before it publishes them. Instances of earlier versions do not. */
  announces?: boolean;
}

/**
 * Reports about users, in lists of the same order: the number of the report and the number before it. If the two are
 * equal, the report was published; otherwise it is announced.
 */
export interface ReportLists {
  users: string[];
  marks: number[];
  after: number[];
}

/**
 * A message between instances: changes, a beat, or the whole list of users in parts. `n` numbers the changes, so that a
 * lost one is detected; the digest is the state after them.
 */
export type PresenceNote = Sender &
  (
    | { kind: "delta"; n: number; digest: Digest; joined: string[]; left: string[] }
    | { kind: "beat"; n: number; digest: Digest }
    | { kind: "part"; n: number; digest: Digest; index: number; parts: number; users: string[] }
    /** Asks one instance for its list of users, or all of them for their lists and for the state of all reports. */
    | { kind: "ask"; of: string | null }
    | ({ kind: "reports" } & ReportLists)
    /** All users that were reported online, in parts. `highest` is the highest number of any report. */
    | ({ kind: "state"; index: number; parts: number; highest: number } & ReportLists)
    /** The instance ends in order. */
    | { kind: "bye" }
  );

/** Null: not a valid note. */
export function readPresenceNote(value: JsonObject): PresenceNote | null {
  if (typeof value.boot !== "string" || typeof value.startedAt !== "number") return null;
  return isUsable(value) ? (value as unknown as PresenceNote) : null;
}

function isUsable(value: JsonObject): boolean {
  const { kind } = value;
  if (kind === "bye") return true;
  if (kind === "ask") return value.of === null || typeof value.of === "string";
  if (kind === "reports") return isReportLists(value);
  if (kind === "state") return isPart(value) && Number.isFinite(value.highest) && isReportLists(value);
  if (typeof value.n !== "number" || !isDigest(value.digest)) return false;
  if (kind === "delta") return isTextList(value.joined) && isTextList(value.left);
  return kind === "beat" || (kind === "part" && isPart(value) && isTextList(value.users));
}

function isPart({ index, parts }: JsonObject): boolean {
  return typeof index === "number" && typeof parts === "number";
}

function isReportLists({ users, marks, after }: JsonObject): boolean {
  if (!isTextList(users) || !isNumbers(marks) || !isNumbers(after)) return false;
  return users.length === marks.length && users.length === after.length;
}

function isDigest(value: unknown): value is Digest {
  return isObject(value) && typeof value.users === "number" && typeof value.hash === "number";
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item));
}
