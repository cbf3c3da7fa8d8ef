import { isRecord } from "../message/message.ts";

/** Enough to see that two lists of users differ, without sending either. */
export interface Digest {
  users: number;
  /** Exclusive or over the hashes of all user ids, so that it is kept up to date by each change. */
  hash: number;
}

/** Which life of which instance speaks. `startedAt` orders instances by age. */
interface Speaker {
  boot: string;
  startedAt: number;
  /** False: it hears the others for too short a time to tell anything yet. */
  mayTell?: boolean;
}

/**
 * What an instance announces to the others: changes, a beat, or the whole list in parts. `n` numbers the changes, so that
 * a lost one is seen; the digest is the state after them. `occasions` has one entry for each user that joined or is
 * listed, in the same order, and `ended` the stay before it that was reported as over, or 0; instances of an earlier
 * version omit them.
 */
export type PresenceNote = Speaker &
  (
    | {
        kind: "delta";
        n: number;
        digest: Digest;
        joined: string[];
        occasions?: number[];
        ended?: number[];
        left: string[];
      }
    | { kind: "beat"; n: number; digest: Digest }
    | {
        kind: "part";
        n: number;
        digest: Digest;
        index: number;
        parts: number;
        users: string[];
        occasions?: number[];
        ended?: number[];
      }
    /** Asks one instance, or all of them, for their whole list. */
    | { kind: "ask"; of: string | null }
    /** An instance that was given up is heard again; whoever gave it up has told its users offline. */
    | { kind: "risen"; of: string; life: string }
    /** Stays that were reported as over although another instance still counted them. */
    | { kind: "ended"; users: string[]; ended: number[] }
    /** The instance ends in order. */
    | { kind: "bye" }
  );

/** Null for anything that no instance of ours has written. */
export function readPresenceNote(value: Record<string, unknown>): PresenceNote | null {
  if (typeof value.boot !== "string" || typeof value.startedAt !== "number") return null;
  const { kind } = value;
  if (kind === "bye") return value as unknown as PresenceNote;
  if (kind === "ask")
    return value.of === null || typeof value.of === "string" ? (value as unknown as PresenceNote) : null;
  if (kind === "risen")
    return typeof value.of === "string" && typeof value.life === "string"
      ? (value as unknown as PresenceNote)
      : null;
  if (kind === "ended")
    return isTexts(value.users) && isNumbers(value.ended) ? (value as unknown as PresenceNote) : null;
  if (typeof value.n !== "number" || !isDigest(value.digest)) return null;
  if (value.occasions !== undefined && !isNumbers(value.occasions)) return null;
  if (value.ended !== undefined && !isNumbers(value.ended)) return null;
  const isUsable =
    kind === "beat" ||
    (kind === "delta" && isTexts(value.joined) && isTexts(value.left)) ||
    (kind === "part" &&
      typeof value.index === "number" &&
      typeof value.parts === "number" &&
      isTexts(value.users));
  return isUsable ? (value as unknown as PresenceNote) : null;
}

function isDigest(value: unknown): value is Digest {
  return isRecord(value) && typeof value.users === "number" && typeof value.hash === "number";
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isFinite(item));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
