/**
 * A timer wheel: one timer for all connections. Each slot holds the items of one tick. An item beyond the last slot waits
 * there and is then scheduled again. Items are never removed; a visitor returns 0 for an item that is gone.
 */
export class TimerWheel<T> {
  readonly #tickMs: number;
  readonly #slots: T[][];
  #tick: number;

  constructor(options: { tickMs: number; reachMs: number; nowMs: number }) {
    this.#tickMs = options.tickMs;
    const slots = Math.max(2, Math.ceil(options.reachMs / options.tickMs) + 2);
    this.#slots = Array.from({ length: slots }, () => []);
    this.#tick = Math.floor(options.nowMs / options.tickMs);
  }

  schedule(item: T, atMs: number): void {
    const nearest = this.#tick + 1;
    const farthest = this.#tick + this.#slots.length - 1;
    const tick = Math.min(farthest, Math.max(nearest, Math.ceil(atMs / this.#tickMs)));
    this.#slots[tick % this.#slots.length]?.push(item);
  }

  /** Visits the due items; `visit` returns the time of the next visit, or 0 for none. */
  advance(nowMs: number, visit: (item: T, nowMs: number) => number): void {
    const target = Math.floor(nowMs / this.#tickMs);
    // After the machine slept, one round of the wheel visits every item.
    if (target - this.#tick > this.#slots.length) this.#tick = target - this.#slots.length;
    while (this.#tick < target) {
      this.#tick++;
      const slot = this.#tick % this.#slots.length;
      const due = this.#slots[slot] ?? [];
      if (due.length === 0) continue;
      this.#slots[slot] = [];
      for (const item of due) {
        const nextAtMs = visit(item, nowMs);
        if (nextAtMs > 0) this.schedule(item, nextAtMs);
      }
    }
  }
}
