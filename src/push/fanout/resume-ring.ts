import type { PushedMessage } from "../message/message.ts";
import { positionOf, readPosition, tagOf } from "../message/position.ts";

export interface ResumeRingOptions {
  /** 0: nothing is kept. */
  maxBytes: number;
  maxAgeMs: number;
}

/** Where the messages after a client's position begin in the ring. */
export interface ResumePoint {
  from: number;
  /** True only if no message after the position is missing. */
  isComplete: boolean;
}

/** A record of the log. */
interface Entry {
  offset: number;
  id: string;
  atMs: number;
  bytes: number;
  /** Null: the record is not a message for clients, but a position that they may have. */
  message: PushedMessage | null;
}

/** Estimated memory of a record without its content: without it, short messages would have no limit. */
const entryBytes = 400;

/**
 * The last records of the log, bounded by bytes and age. Indexes count from 0 and never repeat; entries below
 * `start` are dropped.
 */
export class ResumeRing {
  readonly #options: ResumeRingOptions;
  #entries: Entry[] = [];
  /** Index of the first element of `#entries`; elements before `#start` are dropped. */
  #base = 0;
  #start = 0;
  /** The record before the first entry: nothing after it is missing. Null: records before the first entry may be missing. */
  #anchor: Pick<Entry, "offset" | "id"> | null = null;
  #messages = 0;
  #bytes = 0;

  constructor(options: ResumeRingOptions) {
    this.#options = options;
  }

  get end(): number {
    return this.#base + this.#entries.length;
  }

  /** Messages in the ring. */
  get size(): number {
    return this.#messages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get maxAgeMs(): number {
    return this.#options.maxAgeMs;
  }

  /** Offset of the newest record; -1: none. */
  get lastOffset(): number {
    return this.#last?.offset ?? -1;
  }

  /** The position after the newest record. */
  get position(): string {
    const last = this.#last;
    return last ? positionOf(last.offset, last.id) : "";
  }

  add(message: PushedMessage, bytes: number, atMs: number): void {
    this.#push({ offset: message.offset, id: message.id, atMs, bytes, message });
    this.dropOld(atMs);
  }

  /** Adds a record that clients do not get, as a position. */
  addMarker(offset: number, id: string, atMs: number): void {
    this.#push({ offset, id, atMs, bytes: 0, message: null });
  }

  /** The record is not kept, because nobody can resume from an earlier one. */
  skip({ offset, id }: Pick<Entry, "offset" | "id">): void {
    this.clear();
    this.#anchor = { offset, id };
  }

  /** Records after the last one may be missing. */
  clear(): void {
    this.#base = this.end;
    this.#start = this.#base;
    this.#entries = [];
    this.#anchor = null;
    this.#messages = 0;
    this.#bytes = 0;
  }

  dropOld(nowMs: number): void {
    const before = nowMs - this.#options.maxAgeMs;
    while (this.#start < this.end && (this.#entry(this.#start)?.atMs ?? before) < before) this.#drop();
  }

  /** Null: the position is beyond the newest record that was read here. */
  find(resume: string, nowMs: number): ResumePoint | null {
    this.dropOld(nowMs);
    const position = readPosition(resume);
    const after = (position && this.#after(position.offset, position.tag)) ?? this.#afterId(resume);
    if (after === null && position && position.offset > this.lastOffset) return null;
    return { from: after ?? this.end, isComplete: after !== null };
  }

  /** Null: not a message. Undefined: it was dropped, or the index is beyond the end. */
  at(index: number): PushedMessage | null | undefined {
    return index < this.#start ? undefined : this.#entry(index)?.message;
  }

  /** The newest record is kept however large it is. */
  #push(entry: Entry): void {
    const { maxBytes } = this.#options;
    if (maxBytes === 0) {
      this.skip(entry);
      return;
    }
    entry.bytes += entryBytes;
    if (entry.message) this.#messages++;
    this.#bytes += entry.bytes;
    this.#entries.push(entry);
    while (this.#bytes > maxBytes && this.#start < this.end - 1) this.#drop();
  }

  get #last(): Pick<Entry, "offset" | "id"> | null {
    return this.#start < this.end ? (this.#entries.at(-1) ?? null) : this.#anchor;
  }

  #after(offset: number, tag: string): number | null {
    if (this.#anchor?.offset === offset && tagOf(this.#anchor.id) === tag) return this.#start;
    let low = this.#start;
    let high = this.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entry(middle)?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    const found = this.#entry(low);
    return found?.offset === offset && tagOf(found.id) === tag ? low + 1 : null;
  }

  /** Searches from the newest, because most clients resume near it. Only clients of an earlier protocol resume by id. */
  #afterId(id: string): number | null {
    for (let index = this.end - 1; index >= this.#start; index--)
      if (this.#entry(index)?.id === id) return index + 1;
    return this.#anchor?.id === id ? this.#start : null;
  }

  #entry(index: number): Entry | undefined {
    return this.#entries[index - this.#base];
  }

  /** Removes dropped entries in large steps: an array that loses its first element copies all others. */
  #drop(): void {
    const entry = this.#entry(this.#start);
    if (!entry) return;
    this.#anchor = { offset: entry.offset, id: entry.id };
    if (entry.message) this.#messages--;
    this.#bytes -= entry.bytes;
    entry.message = null;
    this.#start++;
    const dropped = this.#start - this.#base;
    if (dropped < 1024 || dropped < this.#entries.length / 2) return;
    this.#entries = this.#entries.slice(dropped);
    this.#base = this.#start;
  }
}
