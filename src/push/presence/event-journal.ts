import { type Clock, pause } from "../../clock.ts";

export type PresenceEventType = "online" | "offline";

interface Entry {
  type: PresenceEventType;
  userId: string;
  /** The stay of the user that the event begins or ends. */
  occasion: number;
  atMs: number;
}

export interface EventJournalParts {
  /** Tells other services; rejects while the queue is away. */
  tell(type: PresenceEventType, userId: string, occasion: number): Promise<void>;
  clock: Clock;
  /** So long after an event the speaker, if it is heard, has told it. */
  keepMs: number;
  /** Events were given up because too many wait. */
  onLost(): void;
}

const maxEntries = 100_000;
const chunk = 500;
/** So long an instance that ends waits at most for the queue to take its last events. */
const finishWithinMs = 5_000;

/**
 * Events that every instance sees and one of them tells. The others keep them for a while, so that the one that takes
 * over after a death tells what the dead one may not have told. What cannot be told now is told later, in order.
 */
export class EventJournal {
  readonly #parts: EventJournalParts;
  #entries: Entry[] = [];
  #flushing: Promise<void> | null = null;

  constructor(parts: EventJournalParts) {
    this.#parts = parts;
  }

  get waiting(): number {
    return this.#entries.length;
  }

  add(type: PresenceEventType, userId: string, occasion: number): void {
    if (this.#entries.length >= maxEntries) {
      this.#entries.shift();
      this.#parts.onLost();
    }
    this.#entries.push({ type, userId, occasion, atMs: this.#parts.clock.now() });
  }

  /** Waiting events of a stay get the number that all instances use, so that they keep one id. */
  correct(userId: string, from: number, to: number): void {
    for (const entry of this.#entries)
      if (entry.userId === userId && entry.occasion === from) entry.occasion = to;
  }

  /** For those who do not speak. Who spoke for the last time long ago may have told nothing since. */
  forgetTold(toldAtMs: number): void {
    this.forgetBefore(toldAtMs - this.#parts.keepMs);
  }

  /** From now on this instance speaks; what happened before was told by another. */
  forgetBefore(atMs: number): void {
    const first = this.#entries.findIndex((entry) => entry.atMs >= atMs);
    this.#entries.splice(0, first === -1 ? this.#entries.length : first);
  }

  /** Tells what waits. A failure leaves the rest for the next time. */
  flush(): Promise<void> {
    if (this.#entries.length === 0) return this.#flushing ?? Promise.resolve();
    this.#flushing ??= this.#tellAll();
    return this.#flushing;
  }

  /** Tells what waits for the last time; what the queue does not take now is given up. */
  async finish(): Promise<void> {
    const told = new AbortController();
    await Promise.race([this.flush().then(() => told.abort()), pause(finishWithinMs, told.signal)]);
    if (this.#entries.length > 0) this.#parts.onLost();
  }

  async #tellAll(): Promise<void> {
    while (this.#entries.length > 0) {
      const told = this.#entries.splice(0, chunk);
      const results = await Promise.allSettled(
        told.map(({ type, userId, occasion }) => this.#parts.tell(type, userId, occasion)),
      );
      const failed = told.filter((_, index) => results[index]?.status === "rejected");
      if (failed.length === 0) continue;
      this.#entries.unshift(...failed);
      break;
    }
    this.#flushing = null;
  }
}
