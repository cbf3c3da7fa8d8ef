/**
 * Remembers the last ids, at least `capacity` of them and at most twice as many: two generations, of which the older
 * is forgotten as a whole, so that remembering costs no bookkeeping per id.
 */
export class RecentIds {
  readonly #capacity: number;
  #young = new Set<string>();
  #old = new Set<string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** True when the id was not known; from now on it is. */
  add(id: string): boolean {
    if (this.#young.has(id) || this.#old.has(id)) return false;
    this.#young.add(id);
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    return true;
  }
}
