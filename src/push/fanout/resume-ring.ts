import type { BroadcastMessage } from "../message/message.ts";

export interface ResumeRingOptions {
  maxMessages: number;
  maxBytes: number;
  maxAgeMs: number;
  /**
   * How far before the resumed id a replay starts, because instances receive messages of different publishers in different
   * order. 0 on one instance.
   */
  overlapMs: number;
  /** Identifies this process in the ids of empty positions, so that a client without any message can resume too. */
  originId: string;
}

export interface ResumePoint {
  /** Position of the first message to replay. */
  from: number;
  /** True only if no message can be missing. */
  isComplete: boolean;
}

/**
 * The last messages that this instance delivered, bounded by count, bytes and age. Positions count from 0 and never
 * repeat; messages at positions below `start` are dropped.
 */
export class ResumeRing {
  readonly #options: ResumeRingOptions;
  readonly #messages: (BroadcastMessage | undefined)[] = [];
  readonly #sizes: number[] = [];
  readonly #arrivals: number[] = [];
  #start = 0;
  #end = 0;
  /** Position of the oldest message within the maximum age. */
  #firstFresh = 0;
  #bytes = 0;
  /** Arrival time of the newest dropped or skipped message. */
  #droppedAtMs = Number.NEGATIVE_INFINITY;

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

  /** Id of the newest message; in an empty ring, an id for the next position. */
  get lastId(): string {
    return this.at(this.#end - 1)?.id ?? `${this.#end}@${this.#options.originId}`;
  }

  add(message: BroadcastMessage, sizeBytes: number, nowMs: number): void {
    const { maxMessages, maxBytes } = this.#options;
    if (maxMessages === 0) {
      this.skip(nowMs);
      return;
    }
    while (this.size >= maxMessages || (this.size > 0 && this.#bytes + sizeBytes > maxBytes)) this.#drop();
    const slot = this.#end % maxMessages;
    this.#messages[slot] = message;
    this.#sizes[slot] = sizeBytes;
    this.#arrivals[slot] = nowMs;
    this.#end++;
    this.#bytes += sizeBytes;
    this.dropOld(nowMs);
  }

  /** Continues the positions of another process. Call before any message is added. */
  startAt(position: number): void {
    this.#start = position;
    this.#end = position;
  }

  /**
   * A message was not added, or may have been lost. All earlier messages are dropped, so that a resume from one of them
   * reports missing messages.
   */
  skip(nowMs: number): void {
    while (this.size > 0) this.#drop();
    this.#start = ++this.#end;
    this.#droppedAtMs = nowMs;
  }

  get maxAgeMs(): number {
    return this.#options.maxAgeMs;
  }

  /**
   * Keeps the newest message over the maximum age, with its overlap: a client that received it can still resume, because
   * all later messages are here.
   */
  dropOld(nowMs: number): void {
    const { maxAgeMs, overlapMs } = this.#options;
    this.#firstFresh = Math.max(this.#firstFresh, this.#start);
    while (this.#firstFresh < this.#end && this.#arrivalAt(this.#firstFresh) < nowMs - maxAgeMs)
      this.#firstFresh++;
    const anchor = this.#firstFresh - 1;
    const since = this.#arrivalAt(anchor) - overlapMs;
    while (this.#start < anchor && this.#arrivalAt(this.#start) < since) this.#drop();
  }

  find(resumeId: string, nowMs: number): ResumePoint {
    this.dropOld(nowMs);
    const position = this.#positionOf(resumeId);
    const after = position === undefined ? this.#emptyPosition(resumeId) : position + 1;
    if (after === null || after < this.#start) return { from: this.#end, isComplete: false };
    // The id of an empty position comes from this process, so the order is exact.
    if (position === undefined || this.#options.overlapMs === 0) return { from: after, isComplete: true };
    const since = this.#arrivalAt(position) - this.#options.overlapMs;
    let from = position;
    while (from > this.#start && this.#arrivalAt(from - 1) >= since) from--;
    return { from, isComplete: this.#droppedAtMs < since };
  }

  /** Undefined: the message was dropped, or the position is beyond the end. */
  at(position: number): BroadcastMessage | undefined {
    return position < this.#start || position >= this.#end ? undefined : this.#at(position);
  }

  /** Searches from the newest message, because most clients resume near it; an index would cost time per message. */
  #positionOf(id: string): number | undefined {
    for (let position = this.#end - 1; position >= this.#start; position--)
      if (this.#at(position)?.id === id) return position;
    return undefined;
  }

  /** Reads `<position>@<origin>`, an id that `lastId` returned for an empty ring. */
  #emptyPosition(resumeId: string): number | null {
    const [position = "", origin] = resumeId.split("@");
    if (origin !== this.#options.originId || !/^\d{1,15}$/.test(position)) return null;
    return Number(position) <= this.#end ? Number(position) : null;
  }

  #at(position: number): BroadcastMessage | undefined {
    return this.#messages[position % this.#options.maxMessages];
  }

  #arrivalAt(position: number): number {
    return this.#arrivals[position % this.#options.maxMessages] ?? 0;
  }

  #drop(): void {
    const slot = this.#start % this.#options.maxMessages;
    this.#bytes -= this.#sizes[slot] ?? 0;
    this.#droppedAtMs = this.#arrivals[slot] ?? 0;
    this.#messages[slot] = undefined;
    this.#start++;
  }
}
