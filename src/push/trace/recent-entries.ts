export interface RecentLimits<T> {
  maxEntries: number;
  maxBytes: number;
  bytesOf: (entry: T) => number;
  onDropped: (entry: T) => void;
}

/** The newest entries, bounded by count and bytes: an array that is written around. */
export class RecentEntries<T> {
  readonly #limits: RecentLimits<T>;
  readonly #slots: T[] = [];
  /** Numbers of the oldest entry and of the next one; the slot is the remainder. */
  #first = 0;
  #next = 0;
  #bytes = 0;

  constructor(limits: RecentLimits<T>) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#next - this.#first;
  }

  add(entry: T): void {
    const { maxEntries, maxBytes, bytesOf } = this.#limits;
    this.#bytes += bytesOf(entry);
    while (this.size > 0 && (this.size >= maxEntries || this.#bytes > maxBytes)) this.#dropOldest();
    this.#slots[this.#next++ % maxEntries] = entry;
  }

  get oldest(): T | undefined {
    return this.size === 0 ? undefined : this.#at(this.#first);
  }

  *newestFirst(): Generator<T> {
    for (let number = this.#next - 1; number >= this.#first; number--) yield this.#at(number);
  }

  #dropOldest(): void {
    const entry = this.#at(this.#first++);
    this.#bytes -= this.#limits.bytesOf(entry);
    this.#limits.onDropped(entry);
  }

  #at(number: number): T {
    return this.#slots[number % this.#limits.maxEntries] as T;
  }
}
