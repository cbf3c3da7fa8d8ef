import type { Clock } from "../../clock.ts";
import type { ConnectionKind } from "../connection/connection.ts";
import { RecentEntries } from "./recent-entries.ts";

/** A connection of a user was opened or closed. */
export interface ConnectionEvent {
  userId: string;
  kind: ConnectionKind;
  /** `gap`: opened by a client that wanted to resume, but messages since its position are no longer kept. */
  type: "opened" | "resumed" | "gap" | "closed";
  /** 0: not closed. */
  closeCode: number;
  atMs: number;
}

/** A connection of a user joined a channel, or was in it no longer. */
export interface MembershipEvent {
  userId: string;
  channel: string;
  type: "joined" | "left";
  /** 0: it left by itself or by the service, not because it was closed. */
  closeCode: number;
  atMs: number;
}

type Event = ConnectionEvent | MembershipEvent;

/** The last events of one type of this process: they explain why somebody was not there. */
export class UserEvents<T extends Event> {
  readonly #events: RecentEntries<T>;
  readonly #startMs: number;
  /** Whether an event was dropped. */
  #isFull = false;

  constructor(maxEvents: number, clock: Clock) {
    this.#startMs = clock.now();
    this.#events = new RecentEntries({
      maxEntries: maxEvents,
      maxBytes: Number.POSITIVE_INFINITY,
      bytesOf: () => 0,
      onDropped: () => {
        this.#isFull = true;
      },
    });
  }

  add(event: T): void {
    this.#events.add(event);
  }

  /** All later events are known. */
  get sinceMs(): number {
    return this.#isFull ? (this.#events.oldest?.atMs ?? 0) : this.#startMs;
  }

  /** Whether no event after this moment was dropped. */
  isKnownSince(atMs: number): boolean {
    return !this.#isFull || this.sinceMs <= atMs;
  }

  /** The newest first. */
  ofUser(userId: string): T[] {
    return [...this.#events.newestFirst()].filter((event) => event.userId === userId);
  }
}

function isEnd({ type }: Event): boolean {
  return type === "closed" || type === "left";
}

/** The last end before a moment, and the next beginning after it. `events`: the newest first. */
export function around<T extends Event>(events: readonly T[], atMs: number) {
  return {
    before: events.find((event) => isEnd(event) && event.atMs <= atMs) ?? null,
    after: events.findLast((event) => !isEnd(event) && event.atMs > atMs) ?? null,
  };
}

/** How many there were at a moment. `now`: how many there are. */
export function countAt(events: readonly Event[], atMs: number, now: number): number {
  const later = events.filter((event) => event.atMs > atMs);
  const ends = later.filter(isEnd).length;
  return Math.max(0, now + ends - (later.length - ends));
}
