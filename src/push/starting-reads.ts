/** Whether each log was read to its end once: before that, this process does not know what the others know. */
export class StartingReads {
  #left: number;
  readonly #over = Promise.withResolvers<void>();

  constructor(logs: number) {
    this.#left = logs;
  }

  get areOver(): boolean {
    return this.#left === 0;
  }

  get over(): Promise<void> {
    return this.#over.promise;
  }

  oneIsOver(): void {
    this.#left--;
    if (this.areOver) this.#over.resolve();
  }
}
