import { EventJournal, type EventJournalParts } from "./event-journal.ts";
import { Presence, type PresenceParts } from "./presence.ts";

export interface InstancePresenceParts
  extends Omit<PresenceParts, "tell">,
    Pick<EventJournalParts, "tell" | "onLost"> {
  /** From the system clock, so that no stay has the number of a stay before a restart. */
  newOccasion: () => number;
}

/** Who came and went where there is one instance: it tells other services itself. */
export class InstancePresence {
  readonly #grace: Presence;
  readonly #journal: EventJournal;
  readonly #newOccasion: () => number;

  constructor({ isOnline, clock, graceMs, tell, onLost, newOccasion }: InstancePresenceParts) {
    this.#newOccasion = newOccasion;
    this.#journal = new EventJournal({ tell, clock, keepMs: Number.POSITIVE_INFINITY, onLost });
    this.#grace = new Presence({
      isOnline,
      clock,
      graceMs,
      tell: (type, userId, occasion) => this.#journal.add(type, userId, occasion),
    });
  }

  opened(userId: string): void {
    this.#grace.opened(userId, this.#grace.occasionOf(userId) ?? this.#newOccasion());
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
