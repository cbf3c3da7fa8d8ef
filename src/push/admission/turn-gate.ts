/**
 * Lets `perTurn` callers pass in each turn of the event loop. The others wait in order for later turns, so that a burst
 * of new connections does not delay the open ones. The caller limits how many may wait.
 */
export class TurnGate {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #passed = 0;
  #isTurnScheduled = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Returns undefined if the caller need not wait. */
  pass(): Promise<void> | undefined {
    this.#scheduleTurn();
    if (this.#passed < this.#perTurn) {
      this.#passed++;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return;
    this.#isTurnScheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isTurnScheduled = false;
    const next = this.#waiting.splice(0, this.#perTurn);
    this.#passed = next.length;
    if (next.length > 0) this.#scheduleTurn();
    for (const letPass of next) letPass();
  }
}
