import type { Clock } from "../../clock.ts";
import { FixedWindow } from "../../rate-limit.ts";

/** Connection attempts per address and second; 0: no limit. */
export class ConnectRate {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #attempts = new FixedWindow({ windowMs: 1000, maxKeys: 100_000 }, () => ({ count: 0 }));

  constructor(limitPerSecond: number, clock: Clock) {
    this.#limit = limitPerSecond;
    this.#clock = clock;
  }

  allows(address: string): boolean {
    return this.#limit === 0 || ++this.#attempts.entryOf(address, this.#clock.now()).count <= this.#limit;
  }

  /** Whether an attempt would be refused now. It is not counted as one. */
  isReached(address: string): boolean {
    return this.#limit > 0 && this.#attempts.entryOf(address, this.#clock.now()).count >= this.#limit;
  }
}
