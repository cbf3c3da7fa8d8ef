/** The only source of randomness of a run: the same seed gives the same schedule of faults and the same load decisions. */
export class Random {
  #state: number;

  constructor(...seed: (string | number)[]) {
    this.#state = Number(BigInt.asUintN(32, BigInt(Bun.hash(seed.join("/")))));
  }

  /** From 0 up to, not including, 1 (the generator "mulberry32"). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const chosen = list[this.between(0, list.length - 1)];
    if (chosen === undefined) throw new Error("There is nothing to pick from.");
    return chosen;
  }

  shuffled<T>(list: readonly T[]): T[] {
    const result = [...list];
    for (let last = result.length - 1; last > 0; last--) {
      const other = this.between(0, last);
      [result[last], result[other]] = [result[other] as T, result[last] as T];
    }
    return result;
  }
}
