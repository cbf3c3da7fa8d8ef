import type { Clock } from "../clock.ts";
import { closeCodes, type Socket } from "./connection.ts";
import type { Connections } from "./connections.ts";

export interface DrainOptions {
  drainDelayMs: number;
  drainPeriodMs: number;
  /** Whether a load balancer needs the delay even when nobody is connected. */
  delaysWhenEmpty: boolean;
  random: () => number;
}

/**
 * Leaves in order: first only not ready, still serving, so that the load balancer notices; then nobody new gets in; then
 * everybody is closed with 1012, in random slices over the period, so that they do not all come back at once elsewhere.
 */
export class Drain {
  readonly #options: DrainOptions;
  readonly #connections: Connections;
  readonly #clock: Clock;
  #refusesAtMs = Number.POSITIVE_INFINITY;
  #endsAtMs = Number.POSITIVE_INFINITY;
  #queue: Socket[] = [];
  #closing: { total: number; startedAtMs: number } | null = null;
  #finish: (() => void) | null = null;
  #finished: Promise<void> | null = null;

  constructor(options: DrainOptions, connections: Connections, clock: Clock) {
    this.#options = options;
    this.#connections = connections;
    this.#clock = clock;
  }

  get isDraining(): boolean {
    return this.#finished !== null;
  }

  get isRefusing(): boolean {
    return this.#clock.now() >= this.#refusesAtMs;
  }

  /** Resolves when the last connection has been closed. */
  start(): Promise<void> {
    this.#finished ??= new Promise((resolve) => {
      const { drainDelayMs, drainPeriodMs, delaysWhenEmpty } = this.#options;
      const delays = delaysWhenEmpty || this.#connections.size > 0;
      this.#refusesAtMs = this.#clock.now() + (delays ? drainDelayMs : 0);
      this.#endsAtMs = this.#refusesAtMs + drainPeriodMs;
      this.#finish = resolve;
    });
    this.tick(this.#clock.now());
    return this.#finished;
  }

  tick(nowMs: number): void {
    if (!this.isDraining || !this.isRefusing || this.#finish === null) return;
    this.#closing ??= this.#begin(nowMs);
    const { total, startedAtMs } = this.#closing;
    const share = Math.min(1, (nowMs - startedAtMs) / Math.max(1, this.#endsAtMs - startedAtMs));
    const closed = total - this.#queue.length;
    for (const socket of this.#queue.splice(0, Math.ceil(total * share) - closed)) close(socket);
    if (nowMs < this.#endsAtMs && this.#connections.size > 0) return;
    // Whoever was admitted in the last moment before the refusals.
    for (const socket of [...this.#connections.all()]) close(socket);
    this.#finish();
    this.#finish = null;
  }

  #begin(nowMs: number): { total: number; startedAtMs: number } {
    this.#queue = shuffled([...this.#connections.all()], this.#options.random);
    return { total: this.#queue.length, startedAtMs: nowMs };
  }
}

/** What was sent before is written first: the close frame stands behind it in the buffer. */
function close(socket: Socket): void {
  socket.close(closeCodes.restart, "the server is restarting");
}

function shuffled<T>(items: T[], random: () => number): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const held = items[at] as T;
    items[at] = items[other] as T;
    items[other] = held;
  }
  return items;
}
