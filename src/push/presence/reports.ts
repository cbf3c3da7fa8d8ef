import type { PresenceEvent } from "../message/message.ts";
import type { ReportLists } from "./presence-note.ts";

/** Limit of users whose last report is remembered although they are offline; the oldest are dropped first. */
const maxOffline = 100_000;

const offlineInState = 20_000;

/** What a note about a report means for this instance. */
export type ReportEffect =
  /** It is new here. */
  | "adopted"
  | "known"
  /** This instance knows a later report that the sender did not know. */
  | "outdated";

/**
 * What other services were told about each user. The reports of a user are numbered: an even number is `online`, the next
 * one is the `offline` of the same stay, and so on; 0 is unknown. A report is announced to all instances before it is
 * made, together with the number before it, so that all of them know the next number, and an instance that takes over
 * makes an announced report again under the same id. Pure: it knows neither time nor bus.
 */
export class Reports {
  readonly #online = new Map<string, number>();
  readonly #offline = new Map<string, number>();
  /** Announced and, as far as is known here, not made yet; with the number before. */
  readonly #announced = new Map<string, number>();
  /** Users whose last report could have been followed by one that this instance has not heard of. */
  #doubtful = new Set<string>();
  #highest = 0;

  get highest(): number {
    return this.#highest;
  }

  /** Users with an announced report that has to be made. */
  get announced(): IterableIterator<string> {
    return this.#announced.keys();
  }

  get announcedCount(): number {
    return this.#announced.size;
  }

  markOf(userId: string): number {
    return this.#online.get(userId) ?? this.#offline.get(userId) ?? 0;
  }

  isOnline(userId: string): boolean {
    return this.#online.has(userId);
  }

  isAnnounced(userId: string): boolean {
    return this.#announced.has(userId);
  }

  /** The number of the next report. The first one of an unknown user is higher than any report that was made before. */
  nextMark(userId: string, nowMs: number): number {
    const mark = this.markOf(userId);
    return mark === 0 ? 2 * Math.max(nowMs, Math.floor(this.#highest / 2) + 1) : mark + 1;
  }

  hear(userId: string, mark: number, after: number): ReportEffect {
    this.#doubtful.delete(userId);
    this.#highest = Math.max(this.#highest, mark);
    const own = this.markOf(userId);
    const isMade = mark === after;
    if (mark === own) {
      if (isMade) this.#announced.delete(userId);
      return "known";
    }
    const ownAfter = this.#announced.get(userId);
    // The sender may not remember a user who was reported offline; its announcement fits all the same.
    const isForgotten = after === 0 && mark > own && !this.isOnline(userId) && ownAfter === undefined;
    const fits = after >= own || isForgotten;
    if (isMade ? mark > own : fits) {
      this.#set(userId, mark, isMade ? null : after);
      return "adopted";
    }
    // An announcement that repeats a report which was made is void.
    if (isMade && ownAfter !== undefined && ownAfter < mark && mark % 2 === own % 2) {
      this.#set(userId, mark, null);
      return "adopted";
    }
    return "outdated";
  }

  made(userId: string, mark: number): void {
    if (this.markOf(userId) === mark) this.#announced.delete(userId);
  }

  /** The next report without an announcement: there is no other instance. */
  announceAlone(userId: string): void {
    const mark = this.markOf(userId);
    this.#set(userId, mark + 1, mark);
  }

  /** Reports of others may not have been heard. */
  doubtAll(): void {
    this.#doubtful = new Set([...this.#online.keys(), ...this.#offline.keys()]);
  }

  /** All users that were reported online were heard: the doubtful others are offline, and their numbers are unknown. */
  settle(highest: number): string[] {
    const gone = [...this.#doubtful];
    for (const userId of gone) {
      this.#online.delete(userId);
      this.#offline.delete(userId);
      this.#announced.delete(userId);
    }
    this.#doubtful.clear();
    this.#highest = Math.max(this.#highest, highest);
    return gone;
  }

  onlineUsers(): string[] {
    return [...this.#online.keys()];
  }

  /** Users of a `state` note: with the last ones who went offline, so that an outdated state of another instance shows. */
  stateUsers(): string[] {
    const offline = [...this.#offline.keys()].slice(-offlineInState);
    return [...new Set([...this.#online.keys(), ...offline, ...this.#announced.keys()])];
  }

  listsOf(users: string[]): ReportLists {
    return {
      users,
      marks: users.map((userId) => this.markOf(userId)),
      after: users.map((userId) => this.#announced.get(userId) ?? this.markOf(userId)),
    };
  }

  #set(userId: string, mark: number, after: number | null): void {
    this.#online.delete(userId);
    this.#offline.delete(userId);
    (mark % 2 === 0 ? this.#online : this.#offline).set(userId, mark);
    if (after === null) this.#announced.delete(userId);
    else this.#announced.set(userId, after);
    this.#highest = Math.max(this.#highest, mark);
    if (this.#offline.size <= maxOffline) return;
    const oldest = this.#offline.keys().next().value ?? userId;
    if (!this.#announced.has(oldest)) this.#offline.delete(oldest);
  }
}

export function eventOf(mark: number): { type: PresenceEvent["type"]; occasion: number } {
  return { type: mark % 2 === 0 ? "online" : "offline", occasion: Math.floor(mark / 2) };
}
