import type { Clock } from "../../clock.ts";

export interface TurnGateOptions {
  /** How many may pass in one turn of the event loop, so that a burst of new connections does not delay the open ones. */
  perTurn: number;
  /** How many may have passed and not left. */
  maxInside: number;
  maxWaiting: number;
  waitMs: number;
  clock: Clock;
}

interface Waiting {
  untilMs: number;
  settle: (passes: boolean) => void;
}

/** Callers that cannot pass at once wait in order for later turns. */
export class TurnGate {
  readonly #options: TurnGateOptions;
  readonly #waiting: Waiting[] = [];
  #inside = 0;
  #passed = 0;
  #isTurnScheduled = false;

  constructor(options: TurnGateOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#options.maxWaiting;
  }

  /** False: too many wait, or the caller has waited for too long. Who passes calls `leave` in the end. */
  pass(): boolean | Promise<boolean> {
    const { waitMs, clock } = this.#options;
    this.#scheduleTurn();
    if (this.#waiting.length === 0 && this.#room > 0) {
      this.#enter();
      return true;
    }
    if (this.isFull) return false;
    return new Promise((settle) => this.#waiting.push({ untilMs: clock.now() + waitMs, settle }));
  }

  leave(): void {
    this.#inside--;
    if (this.#waiting.length > 0) this.#scheduleTurn();
  }

  get #room(): number {
    const { perTurn, maxInside } = this.#options;
    return Math.min(perTurn - this.#passed, maxInside - this.#inside);
  }

  #enter(): void {
    this.#passed++;
    this.#inside++;
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return;
    this.#isTurnScheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isTurnScheduled = false;
    this.#passed = 0;
    const nowMs = this.#options.clock.now();
    const inTime = this.#waiting.findIndex(({ untilMs }) => untilMs > nowMs);
    const late = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime);
    for (const { settle } of late) settle(false);
    for (const { settle } of this.#waiting.splice(0, this.#room)) {
      this.#enter();
      settle(true);
    }
    if (this.#passed > 0 && this.#waiting.length > 0) this.#scheduleTurn();
  }
}
