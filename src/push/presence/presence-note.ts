import { isObject } from "../../json.ts";

/** Enough to see that two lists of users differ, without sending either. */
export interface Digest {
  users: number;
  /** Exclusive or over the hashes of all user ids, so that it is kept up to date by each change. */
  hash: number;
}

/** The sender of a note: which start of which instance. `startedAt` orders instances by age. */
interface Sender {
  boot: string;
  startedAt: number;
  /** False: it may lack reports of others, and reports nothing until it has them. */
  mayTell?: boolean;
  /** True: it announces reports before it makes them. Instances of earlier versions do not. */
  announces?: boolean;
}

/**
 * Reports about users, in lists of the same order: the number of the report and the number before it. Where the two are
 * equal, the report was made; otherwise it is announced.
 */
export interface ReportLists {
  users: string[];
  marks: number[];
  after: number[];
}

/**
 * What an instance announces to the others: changes, a beat, or its whole list of users in parts. `n` numbers the changes,
 * so that a lost one is noticed; the digest is the state after them.
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

/** Null for anything that no instance of ours has written. */
export function readPresenceNote(value: Record<string, unknown>): PresenceNote | null {
  if (typeof value.boot !== "string" || typeof value.startedAt !== "number") return null;
  return isUsable(value) ? (value as unknown as PresenceNote) : null;
}

function isUsable(value: Record<string, unknown>): boolean {
  const { kind } = value;
  if (kind === "bye") return true;
  if (kind === "ask") return value.of === null || typeof value.of === "string";
  if (kind === "reports") return isReportLists(value);
  if (kind === "state") return isPart(value) && Number.isFinite(value.highest) && isReportLists(value);
  if (typeof value.n !== "number" || !isDigest(value.digest)) return false;
  if (kind === "delta") return isTexts(value.joined) && isTexts(value.left);
  return kind === "beat" || (kind === "part" && isPart(value) && isTexts(value.users));
}

function isPart({ index, parts }: Record<string, unknown>): boolean {
  return typeof index === "number" && typeof parts === "number";
}

function isReportLists({ users, marks, after }: Record<string, unknown>): boolean {
  if (!isTexts(users) || !isNumbers(marks) || !isNumbers(after)) return false;
  return users.length === marks.length && users.length === after.length;
}

function isDigest(value: unknown): value is Digest {
  return isObject(value) && typeof value.users === "number" && typeof value.hash === "number";
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
