/**
 * Lets so many pass in one turn of the loop; the others wait, in order, for the next turns, so that a crowd at the door
 * does not hold up those who are inside. How many may wait is the caller's to limit.
 */
export class TurnGate {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #passed = 0;
  #isTurnWatched = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Answers nothing where there is nothing to wait for. */
  pass(): Promise<void> | undefined {
    this.#watchTurn();
    if (this.#passed < this.#perTurn) {
      this.#passed++;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #watchTurn(): void {
    if (this.#isTurnWatched) return;
    this.#isTurnWatched = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isTurnWatched = false;
    const next = this.#waiting.splice(0, this.#perTurn);
    this.#passed = next.length;
    if (next.length > 0) this.#watchTurn();
    for (const letPass of next) letPass();
  }
}
