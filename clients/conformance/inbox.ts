/** Values that arrive, and are awaited in their order. */
export class Inbox<T> {
  readonly #values: T[] = [];
  #arrived = Promise.withResolvers<void>();

  get size(): number {
    return this.#values.length;
  }

  put(value: T): void {
    this.#values.push(value);
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers<void>();
  }

  /** The first value that is wanted. It is removed; those before it stay. */
  async take(isWanted: (value: T) => boolean = () => true): Promise<T> {
    for (;;) {
      const index = this.#values.findIndex(isWanted);
      if (index >= 0) return this.#values.splice(index, 1)[0] as T;
      await this.#arrived.promise;
    }
  }
}
