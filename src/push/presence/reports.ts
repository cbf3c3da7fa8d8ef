import type { PresenceEvent } from "../message/message.ts";
import type { ReportLists } from "./presence-note.ts";

/** Limit of offline users whose last report is remembered; the oldest are dropped first. */
const maxOffline = 100_000;

const offlineInState = 20_000;

/** The effect of a received report. */
export type ReportEffect =
  /** It was new here. */
  | "adopted"
  | "known"
  /** This instance knows a later report than the sender. */
  | "outdated";

/**
 * The presence events of each user. The reports of a user are numbered: an even number is `online`, the next one is the
 * `offline` of the same stay, and so on; 0 is unknown. A report is announced to all instances before it is published,
 * together with the number before it, so that all instances know the next number, and an instance that takes over publishes
 * an announced report again with the same id. It uses neither time nor bus.
 */
export class Reports {
  readonly #online = new Map<string, number>();
  readonly #offline = new Map<string, number>();
  /** Reports that are announced and not known to be published, with the number before. */
  readonly #announced = new Map<string, number>();
  /** Users whose last report may not be the latest, because notes may have been lost. */
  #distrusted = new Set<string>();
  #highest = 0;

  get highest(): number {
    return this.#highest;
  }

  /** Users with an announced report that is not published yet. */
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

  /** The number of the next report. For an unknown user it is higher than any earlier report. */
  nextMark(userId: string, nowMs: number): number {
    const mark = this.markOf(userId);
    return mark === 0 ? 2 * Math.max(nowMs, Math.floor(this.#highest / 2) + 1) : mark + 1;
  }

  receive(userId: string, mark: number, after: number): ReportEffect {
    this.#distrusted.delete(userId);
    this.#highest = Math.max(this.#highest, mark);
    const own = this.markOf(userId);
    const isPublished = mark === after;
    if (mark === own) {
      if (isPublished) this.#announced.delete(userId);
      return "known";
    }
    const ownAfter = this.#announced.get(userId);
    // The sender may have forgotten an offline user; its announcement is accepted.
    const isForgotten = after === 0 && mark > own && !this.isOnline(userId) && ownAfter === undefined;
    const fits = after >= own || isForgotten;
    if (isPublished ? mark > own : fits) {
      this.#set(userId, mark, isPublished ? null : after);
      return "adopted";
    }
    // The announced report repeats a published report.
    if (isPublished && ownAfter !== undefined && ownAfter < mark && mark % 2 === own % 2) {
      this.#set(userId, mark, null);
      return "adopted";
    }
    return "outdated";
  }

  markPublished(userId: string, mark: number): void {
    if (this.markOf(userId) === mark) this.#announced.delete(userId);
  }

  /** Adds the next report without an announcement, because there is no other instance. */
  announceAlone(userId: string): void {
    const mark = this.markOf(userId);
    this.#set(userId, mark + 1, mark);
  }

  /** The user's `online` is announced and will not be published: its `offline` counts as published. */
  skipStay(userId: string): void {
    this.#set(userId, this.markOf(userId) + 1, null);
  }

  /** Call when reports of other instances may have been lost. */
  distrustAll(): void {
    this.#distrusted = new Set([...this.#online.keys(), ...this.#offline.keys()]);
  }

  /** Call after a complete state: users that were not part of it are offline, and their numbers are unknown. */
  settle(highest: number): string[] {
    const gone = [...this.#distrusted];
    for (const userId of gone) {
      this.#online.delete(userId);
      this.#offline.delete(userId);
      this.#announced.delete(userId);
    }
    this.#distrusted.clear();
    this.#highest = Math.max(this.#highest, highest);
    return gone;
  }

  onlineUsers(): string[] {
    return [...this.#online.keys()];
  }

  /** Users of a `state` note: includes the last offline users, so that other instances detect their outdated reports. */
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
