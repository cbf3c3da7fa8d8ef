import type { Clock } from "../clock.ts";
import { closeCodes, type Socket } from "./connection/connection.ts";
import type { Connections } from "./connection/connections.ts";

export interface DrainOptions {
  drainDelayMs: number;
  drainPeriodMs: number;
  /** Whether a load balancer needs the delay even without connections. */
  delaysWhenEmpty: boolean;
}

export interface DrainParts {
  connections: Connections;
  /** Whether clients can connect to another instance meanwhile. */
  hasOtherInstance: () => boolean;
  clock: Clock;
  random: () => number;
}

interface Closing {
  total: number;
  startedAtMs: number;
}

/** Slow consumers get this much longer than the period to read their messages; all others wait for them if this instance is the only one. */
export const flushWithinMs = { besideOthers: 5_000, alone: 2_000 };

/**
 * Shuts down in three steps: not ready but still serving, until the load balancer notices; then new connections are
 * refused; then all are closed with 1012 in random order over the period, so that they do not all reconnect at once.
 * Without another instance all are closed at once: a client that is closed early could connect nowhere.
 */
export class Drain {
  readonly #options: DrainOptions;
  readonly #parts: DrainParts;
  #refusesAtMs = Number.POSITIVE_INFINITY;
  #endsAtMs = Number.POSITIVE_INFINITY;
  #cutsAtMs = Number.POSITIVE_INFINITY;
  #queue: Socket[] = [];
  /** Due to be closed, but with unsent messages. */
  #flushing: Socket[] = [];
  #closing: Closing | null = null;
  #finish: (() => void) | null = null;
  #finished: Promise<void> | null = null;

  constructor(options: DrainOptions, parts: DrainParts) {
    this.#options = options;
    this.#parts = parts;
  }

  get isDraining(): boolean {
    return this.#finished !== null;
  }

  get isRefusing(): boolean {
    return this.#parts.clock.now() >= this.#refusesAtMs;
  }

  /** Resolves when the last connection has been closed. */
  start(): Promise<void> {
    this.#finished ??= new Promise((resolve) => {
      this.#setTimes();
      this.#finish = resolve;
    });
    this.tick(this.#parts.clock.now());
    return this.#finished;
  }

  tick(nowMs: number): void {
    if (!this.isDraining || !this.isRefusing || this.#finish === null) return;
    this.#closing ??= this.#begin(nowMs);
    const isOver = nowMs >= this.#endsAtMs;
    const isTooLate = nowMs >= this.#cutsAtMs;
    const { connections } = this.#parts;
    // At the end also connections that were admitted just before the refusals began.
    const due = isOver ? [...connections.all()] : [...this.#flushing, ...this.#slice(this.#closing, nowMs)];
    this.#flushing = [];
    for (const socket of due) {
      if (isTooLate || isFlushed(socket)) close(socket);
      else this.#flushing.push(socket);
    }
    if (connections.size > 0 && !isTooLate) return;
    this.#finish();
    this.#finish = null;
  }

  #setTimes(): void {
    const { connections, hasOtherInstance, clock } = this.#parts;
    const { drainDelayMs, drainPeriodMs, delaysWhenEmpty } = this.#options;
    const isAlone = !hasOtherInstance();
    const delays = !isAlone && (delaysWhenEmpty || connections.size > 0);
    this.#refusesAtMs = clock.now() + (delays ? drainDelayMs : 0);
    this.#endsAtMs = this.#refusesAtMs + (isAlone ? 0 : drainPeriodMs);
    this.#cutsAtMs = this.#endsAtMs + (isAlone ? flushWithinMs.alone : flushWithinMs.besideOthers);
  }

  #slice({ total, startedAtMs }: Closing, nowMs: number): Socket[] {
    const share = Math.min(1, (nowMs - startedAtMs) / Math.max(1, this.#endsAtMs - startedAtMs));
    const taken = total - this.#queue.length;
    return this.#queue.splice(0, Math.ceil(total * share) - taken);
  }

  #begin(nowMs: number): Closing {
    const { connections, random } = this.#parts;
    this.#queue = shuffled([...connections.all()], random);
    return { total: this.#queue.length, startedAtMs: nowMs };
  }
}

/** Unsent bytes of a closed socket cannot be read, so a socket is closed only after it was flushed. */
function isFlushed(socket: Socket): boolean {
  return socket.getBufferedAmount() === 0 && socket.data.catchUpPosition < 0;
}

function close(socket: Socket): void {
  socket.close(closeCodes.restart, "the server is restarting");
}

function shuffled<T>(items: T[], random: () => number): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const swapped = items[at] as T;
    items[at] = items[other] as T;
    items[other] = swapped;
  }
  return items;
}
