import type { Clock } from "../../clock.ts";
import type { PresenceEventType } from "./event-journal.ts";

export interface PresenceParts {
  isOnline: (userId: string) => boolean;
  clock: Clock;
  graceMs: number;
  /** Called once when a user's first normal connection opens, and once when none has been open for the grace period. */
  tell: (type: PresenceEventType, userId: string, occasion: number) => void;
  /** The user's stay began earlier, on another instance. */
  corrected?: (userId: string, from: number, to: number) => void;
  /** Another instance still counts a stay of a user that was reported as over here. */
  outdated?: (userId: string, ended: number) => void;
}

export const presenceGraceMs = 5000;

/** Limit of users whose last stay is remembered; the oldest are dropped first. */
const maxEnded = 100_000;

/**
 * Detects which users come online and go offline; a reconnect within the grace period is neither. A stay from `online` to
 * `offline` has a number, its occasion: the time at which it began on the instance that saw it first. All instances use
 * the same number for a stay, so that a repeated event has the same id.
 */
export class Presence {
  readonly #parts: PresenceParts;
  /** The current stay of each online user. */
  readonly #stays = new Map<string, number>();
  /** When a user without a normal connection becomes offline; in order of time, because the grace is the same for all. */
  readonly #leaving = new Map<string, number>();
  /** The last stay of users who went offline. */
  readonly #ended = new Map<string, number>();

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  /** The stay of a user who is online, or was within the grace period. */
  occasionOf(userId: string): number | undefined {
    return this.#stays.get(userId);
  }

  /** The last stay of a user that was reported as over; 0: none is known. */
  endedOf(userId: string): number {
    return this.#ended.get(userId) ?? 0;
  }

  /** `endedElsewhere`: the stay before this one, as the instance knows it that saw the user come online. */
  opened(userId: string, occasion: number, endedElsewhere = 0): void {
    this.#leaving.delete(userId);
    const before = this.#stays.get(userId);
    // Other instances saw the user offline for longer than the grace period while this one could not hear them.
    if (before !== undefined && endedElsewhere >= before) this.#end(userId);
    const current = this.#stays.get(userId);
    const ended = this.#ended.get(userId) ?? Number.NEGATIVE_INFINITY;
    if (current === undefined) {
      // An evicted instance comes back with users who were reported offline: a new stay begins.
      const stay = Math.max(occasion, ended + 1);
      this.#stays.set(userId, stay);
      this.#parts.tell("online", userId, stay);
      if (stay > occasion) this.#parts.outdated?.(userId, ended);
    } else if (occasion < current && occasion > ended) {
      // Two instances saw the user come online at the same time; all use the earlier number.
      this.#stays.set(userId, occasion);
      this.#parts.corrected?.(userId, current, occasion);
    }
  }

  closed(userId: string): void {
    const { isOnline, clock, graceMs } = this.#parts;
    if (!isOnline(userId)) this.#leaving.set(userId, clock.now() + graceMs);
  }

  /** Another instance has reported this stay as over; the user is in the next one. */
  endedBefore(userId: string, ended: number): void {
    const current = this.#stays.get(userId);
    if (current === undefined || current > ended) return;
    this.#remember(userId, ended);
    this.#stays.set(userId, ended + 1);
  }

  /** Other instances have reported these users offline, and now report them online again. */
  renew(userIds: Iterable<string>): void {
    for (const userId of userIds) {
      const stay = this.#stays.get(userId);
      if (stay === undefined) continue;
      this.#remember(userId, stay);
      this.#stays.set(userId, stay + 1);
    }
  }

  /** This instance stops tracking users: all online users are reported offline, without a grace period. */
  end(): void {
    this.#leaving.clear();
    for (const userId of [...this.#stays.keys()]) this.#end(userId);
  }

  tick(nowMs: number): void {
    for (const [userId, atMs] of this.#leaving) {
      if (atMs > nowMs) return;
      this.#leaving.delete(userId);
      this.#end(userId);
    }
  }

  #end(userId: string): void {
    const occasion = this.#stays.get(userId);
    if (occasion === undefined) return;
    this.#stays.delete(userId);
    this.#remember(userId, occasion);
    this.#parts.tell("offline", userId, occasion);
  }

  #remember(userId: string, occasion: number): void {
    this.#ended.delete(userId);
    this.#ended.set(userId, occasion);
    if (this.#ended.size > maxEnded) this.#ended.delete(this.#ended.keys().next().value ?? userId);
  }
}
