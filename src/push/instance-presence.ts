import { EventJournal, type EventJournalParts } from "./event-journal.ts";
import { Presence, type PresenceParts } from "./presence.ts";

export type InstancePresenceParts = Omit<PresenceParts, "tell"> & Pick<EventJournalParts, "tell" | "onLost">;

/** Who came and went where there is one instance: it tells other services itself. */
export class InstancePresence {
  readonly #grace: Presence;
  readonly #journal: EventJournal;

  constructor({ isOnline, clock, graceMs, tell, onLost }: InstancePresenceParts) {
    this.#journal = new EventJournal({ tell, clock, keepMs: Number.POSITIVE_INFINITY, onLost });
    this.#grace = new Presence({
      isOnline,
      clock,
      graceMs,
      tell: (type, userId) => this.#journal.add(type, userId),
    });
  }

  opened(userId: string): void {
    this.#grace.opened(userId);
  }

  closed(userId: string): void {
    this.#grace.closed(userId);
  }

  tick(nowMs: number): void {
    this.#grace.tick(nowMs);
    void this.#journal.flush();
  }

  /** Ends in order: nobody is online any more, and nobody else would tell. */
  async leave(): Promise<void> {
    this.#grace.end();
    await this.#journal.finish();
  }
}
