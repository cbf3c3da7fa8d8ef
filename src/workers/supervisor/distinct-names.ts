import type { NameChange } from "../protocol.ts";

/** Counts names that several workers may have at the same time, each once. */
export class DistinctNames {
  readonly #ofWorker = new Map<number, Set<string>>();
  readonly #workersOf = new Map<string, number>();

  get size(): number {
    return this.#workersOf.size;
  }

  change(worker: number, changes: readonly NameChange[]): void {
    const names = this.#ofWorker.get(worker) ?? new Set();
    this.#ofWorker.set(worker, names);
    for (const [name, isPresent] of changes) {
      if (!isPresent) {
        if (names.delete(name)) this.#decrease(name);
      } else if (!names.has(name)) {
        names.add(name);
        this.#workersOf.set(name, (this.#workersOf.get(name) ?? 0) + 1);
      }
    }
  }

  removeWorker(worker: number): void {
    for (const name of this.#ofWorker.get(worker) ?? []) this.#decrease(name);
    this.#ofWorker.delete(worker);
  }

  #decrease(name: string): void {
    const workers = (this.#workersOf.get(name) ?? 0) - 1;
    if (workers > 0) this.#workersOf.set(name, workers);
    else this.#workersOf.delete(name);
  }
}
