import type { Clock } from "../../clock.ts";

/** More names than this in one second share one count, so that memory is bounded. */
const maxNames = 100_000;

/** Events per second and name, counted in whole seconds. A limit of 0 means none. */
export class RateWindow {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  #second = 0;

  constructor(limitPerSecond: number, clock: Clock) {
    this.#limit = limitPerSecond;
    this.#clock = clock;
  }

  allows(name: string): boolean {
    if (this.#limit === 0) return true;
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#counts.clear();
    }
    const counted = this.#counts.size < maxNames || this.#counts.has(name) ? name : "";
    const count = (this.#counts.get(counted) ?? 0) + 1;
    this.#counts.set(counted, count);
    return count <= this.#limit;
  }
}
