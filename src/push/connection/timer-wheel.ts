/**
 * One timer for everything that happens to a connection by time. Items stand in slots of one tick each; an item further
 * away than the wheel reaches stands in the last slot and is asked again from there. Nothing is ever removed: an item
 * that is gone is simply not scheduled again.
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

  /** Visits what is due; `visit` answers when the item wants to be visited next, or 0 for never. */
  advance(nowMs: number, visit: (item: T, nowMs: number) => number): void {
    const target = Math.floor(nowMs / this.#tickMs);
    // After a long sleep of the machine one turn of the wheel visits everything.
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
