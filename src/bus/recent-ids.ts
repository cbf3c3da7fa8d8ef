/**
 * Remembers at least the last `capacity` ids and at most twice as many. There are two sets, and the older one is dropped
 * as a whole, so that an id needs no bookkeeping of its own.
 */
export class RecentIds {
  readonly #capacity: number;
  #newer = new Set<string>();
  #older = new Set<string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Returns false if the id is known. */
  add(id: string): boolean {
    if (this.#newer.has(id) || this.#older.has(id)) return false;
    this.#newer.add(id);
    if (this.#newer.size >= this.#capacity) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    return true;
  }
}
