export interface LogLine {
  index: number;
  stage: string;
  at: string;
  text: string;
}

/**
 * The lines of one log as far as they are known: always from 0 and without gaps. Lines come from the API and from the
 * live channel at once; doubles are dropped, and a gap is reported instead of shown.
 */
export class LogLines {
  #lines: LogLine[] = [];
  #stageStarts = new Map<string, number>();
  #listeners = new Set<() => void>();
  #version = 0;
  #isTelling = false;
  isComplete = false;
  readonly #schedule: (tell: () => void) => void;

  /** Listeners are told at most once per frame, however many lines arrive. */
  constructor(schedule: (tell: () => void) => void = (tell) => void requestAnimationFrame(tell)) {
    this.#schedule = schedule;
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** Index of the first line that is not known yet. */
  get next(): number {
    return this.#lines.length;
  }

  /** Index of the first line of each stage so far. */
  get stageStarts(): ReadonlyMap<string, number> {
    return this.#stageStarts;
  }

  get version(): number {
    return this.#version;
  }

  /** False when lines before these are missing: fetch from `next`. */
  add(lines: readonly LogLine[]): boolean {
    const first = lines[0];
    if (first === undefined) return true;
    if (first.index > this.next) return false;
    const before = this.next;
    for (const line of lines) if (line.index === this.next) this.#push(line);
    if (this.next > before) this.#changed();
    return true;
  }

  #push(line: LogLine): void {
    if (!this.#stageStarts.has(line.stage)) this.#stageStarts.set(line.stage, line.index);
    this.#lines.push(line);
  }

  complete(): void {
    if (this.isComplete) return;
    this.isComplete = true;
    this.#changed();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #changed(): void {
    this.#version++;
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#schedule(() => {
      this.#isTelling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
