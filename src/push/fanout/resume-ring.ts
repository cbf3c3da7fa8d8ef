import type { BroadcastMessage } from "../message/message.ts";

export interface ResumeRingOptions {
  maxMessages: number;
  maxBytes: number;
  maxAgeMs: number;
  /**
   * How far behind the resumed id a replay starts, because instances see messages of different publishers in different
   * order. 0 on one instance.
   */
  overlapMs: number;
  /** Of this instance's start: names places in an empty ring, so that a client that has heard nothing can resume too. */
  originId: string;
}

export interface ResumePoint {
  /** Position of the first message to look at. */
  from: number;
  /** True only when nothing can be missing. */
  isComplete: boolean;
}

/**
 * The last messages that this instance delivered, bounded by count, bytes and age. Positions count from 0 and never
 * repeat; a position below `start` has been forgotten.
 */
export class ResumeRing {
  readonly #options: ResumeRingOptions;
  readonly #messages: (BroadcastMessage | undefined)[] = [];
  readonly #sizes: number[] = [];
  readonly #arrivals: number[] = [];
  #start = 0;
  #end = 0;
  /** The oldest message that is not too old. */
  #young = 0;
  #bytes = 0;
  /** Arrival of the newest message that is not here. */
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ResumeRingOptions) {
    this.#options = options;
  }

  get end(): number {
    return this.#end;
  }

  get size(): number {
    return this.#end - this.#start;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The newest message, or the name of the place where the next one will stand. */
  get lastId(): string {
    return this.at(this.#end - 1)?.id ?? `${this.#end}@${this.#options.originId}`;
  }

  add(message: BroadcastMessage, sizeBytes: number, nowMs: number): void {
    const { maxMessages, maxBytes } = this.#options;
    if (maxMessages === 0) {
      this.pass(nowMs);
      return;
    }
    while (this.size >= maxMessages || (this.size > 0 && this.#bytes + sizeBytes > maxBytes)) this.#forget();
    const slot = this.#end % maxMessages;
    this.#messages[slot] = message;
    this.#sizes[slot] = sizeBytes;
    this.#arrivals[slot] = nowMs;
    this.#end++;
    this.#bytes += sizeBytes;
    this.forgetOld(nowMs);
  }

  /**
   * A message went by that is not kept, or may have: with it goes all that stood before it, so that nobody who heard only
   * that is told that nothing is missing.
   */
  pass(nowMs: number): void {
    while (this.size > 0) this.#forget();
    this.#start = ++this.#end;
    this.#forgottenAtMs = nowMs;
  }

  get maxAgeMs(): number {
    return this.#options.maxAgeMs;
  }

  /**
   * The newest of those that are too old stays, with what a replay from it begins at: whoever heard it has missed only
   * what followed, and all of that is here.
   */
  forgetOld(nowMs: number): void {
    const { maxAgeMs, overlapMs } = this.#options;
    this.#young = Math.max(this.#young, this.#start);
    while (this.#young < this.#end && this.#arrivalAt(this.#young) < nowMs - maxAgeMs) this.#young++;
    const anchor = this.#young - 1;
    const since = this.#arrivalAt(anchor) - overlapMs;
    while (this.#start < anchor && this.#arrivalAt(this.#start) < since) this.#forget();
  }

  find(resumeId: string, nowMs: number): ResumePoint {
    this.forgetOld(nowMs);
    const position = this.#positionOf(resumeId);
    const after = position === undefined ? this.#namedPlace(resumeId) : position + 1;
    if (after === null || after < this.#start) return { from: this.#end, isComplete: false };
    // A named place is of this instance, whose own order is exact.
    if (position === undefined || this.#options.overlapMs === 0) return { from: after, isComplete: true };
    const since = this.#arrivalAt(position) - this.#options.overlapMs;
    let from = position;
    while (from > this.#start && this.#arrivalAt(from - 1) >= since) from--;
    return { from, isComplete: this.#forgottenAtMs < since };
  }

  /** The message at a position; undefined when it was forgotten already or is not there yet. */
  at(position: number): BroadcastMessage | undefined {
    return position < this.#start || position >= this.#end ? undefined : this.#at(position);
  }

  /** Looked for from the newest back, where almost all who resume stand; an index would cost every message. */
  #positionOf(id: string): number | undefined {
    for (let position = this.#end - 1; position >= this.#start; position--)
      if (this.#at(position)?.id === id) return position;
    return undefined;
  }

  /** `<position>@<origin>`, as `lastId` gave it while the ring stood empty. */
  #namedPlace(resumeId: string): number | null {
    const [place = "", origin] = resumeId.split("@");
    if (origin !== this.#options.originId || !/^\d{1,15}$/.test(place)) return null;
    return Number(place) <= this.#end ? Number(place) : null;
  }

  #at(position: number): BroadcastMessage | undefined {
    return this.#messages[position % this.#options.maxMessages];
  }

  #arrivalAt(position: number): number {
    return this.#arrivals[position % this.#options.maxMessages] ?? 0;
  }

  #forget(): void {
    const slot = this.#start % this.#options.maxMessages;
    this.#bytes -= this.#sizes[slot] ?? 0;
    this.#forgottenAtMs = this.#arrivals[slot] ?? 0;
    this.#messages[slot] = undefined;
    this.#start++;
  }
}
