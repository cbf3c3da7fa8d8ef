import type { Clock } from "../clock.ts";
import type { PresenceEventType } from "./event-journal.ts";

export interface PresenceParts {
  isOnline: (userId: string) => boolean;
  clock: Clock;
  graceMs: number;
  /** Told once when a user's first normal connection opens, and once when none has been open for the grace. */
  tell: (type: PresenceEventType, userId: string, occasion: number) => void;
  /** The stay of a user turned out to have begun earlier, elsewhere. */
  corrected?: (userId: string, from: number, to: number) => void;
}

export const presenceGraceMs = 5000;

/** Users whose last stay is remembered; the oldest are forgotten first. */
const maxEnded = 100_000;

/**
 * Which users came and went. A reconnect within the grace is neither. A stay from `online` to `offline` has a number, its
 * occasion: the time at which it began on the instance that saw it first. All instances use the same number
 * for a stay, so that an event that is written again has the same id.
 */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #told = new Map<string, number>();
  /** When a user without a normal connection becomes offline; in order of time, because the grace is the same for all. */
  readonly #leaving = new Map<string, number>();
  /** The last stay of users who went. */
  readonly #ended = new Map<string, number>();

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  /** The stay of a user who is online, or was within the grace. */
  occasionOf(userId: string): number | undefined {
    return this.#told.get(userId);
  }

  opened(userId: string, occasion: number): void {
    this.#leaving.delete(userId);
    const told = this.#told.get(userId);
    const ended = this.#ended.get(userId) ?? Number.NEGATIVE_INFINITY;
    if (told === undefined) {
      // An instance that was given up comes back with users whose stay was told as ended: they begin another.
      const stay = Math.max(occasion, ended + 1);
      this.#told.set(userId, stay);
      this.#parts.tell("online", userId, stay);
    } else if (occasion < told && occasion > ended) {
      // Two instances saw the user come at the same time; all agree on the earlier one.
      this.#told.set(userId, occasion);
      this.#parts.corrected?.(userId, told, occasion);
    }
  }

  closed(userId: string): void {
    const { isOnline, clock, graceMs } = this.#parts;
    if (!isOnline(userId)) this.#leaving.set(userId, clock.now() + graceMs);
  }

  /** Others have told these users offline, and now tell them online again. */
  renew(userIds: Iterable<string>): void {
    for (const userId of userIds) {
      const told = this.#told.get(userId);
      if (told === undefined) continue;
      this.#remember(userId, told);
      this.#told.set(userId, told + 1);
    }
  }

  /** Nobody will look after them here: all who were told online are told offline, without a grace. */
  end(): void {
    this.#leaving.clear();
    for (const userId of [...this.#told.keys()]) this.#end(userId);
  }

  tick(nowMs: number): void {
    for (const [userId, atMs] of this.#leaving) {
      if (atMs > nowMs) return;
      this.#leaving.delete(userId);
      this.#end(userId);
    }
  }

  #end(userId: string): void {
    const occasion = this.#told.get(userId);
    if (occasion === undefined) return;
    this.#told.delete(userId);
    this.#remember(userId, occasion);
    this.#parts.tell("offline", userId, occasion);
  }

  #remember(userId: string, occasion: number): void {
    this.#ended.delete(userId);
    this.#ended.set(userId, occasion);
    if (this.#ended.size > maxEnded) this.#ended.delete(this.#ended.keys().next().value ?? userId);
  }
}
