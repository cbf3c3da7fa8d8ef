import type { ConnectionKind } from "../connection/connection.ts";
import { RecentEntries } from "./recent-entries.ts";

/** A connection of a user was opened or closed. */
export interface ConnectionEvent {
  userId: string;
  kind: ConnectionKind;
  /** `gap`: opened by a client that wanted to resume, but messages since its position are no longer kept. */
  type: "opened" | "gap" | "closed";
  /** 0: not closed. */
  closeCode: number;
  atMs: number;
}

/** What happened to a user's connections around a message. */
export interface Around {
  /** The last connection before it was closed then. */
  before: ConnectionEvent | null;
  /** The next connection after it. */
  after: ConnectionEvent | null;
}

/** The last openings and closes of connections of this process: they explain why somebody had no connection. */
export class ConnectionHistory {
  readonly #events: RecentEntries<ConnectionEvent>;

  constructor(maxEvents: number) {
    this.#events = new RecentEntries({
      maxEntries: maxEvents,
      maxBytes: Number.POSITIVE_INFINITY,
      bytesOf: () => 0,
      onDropped: () => {},
    });
  }

  add(event: ConnectionEvent): void {
    this.#events.add(event);
  }

  /** The newest first. */
  ofUser(userId: string): ConnectionEvent[] {
    return [...this.#events.newestFirst()].filter((event) => event.userId === userId);
  }
}

/** `events`: the newest first. */
export function around(events: readonly ConnectionEvent[], atMs: number): Around {
  return {
    before: events.find((event) => event.type === "closed" && event.atMs <= atMs) ?? null,
    after: events.findLast((event) => event.type !== "closed" && event.atMs > atMs) ?? null,
  };
}
