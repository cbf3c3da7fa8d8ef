/** Events with milliseconds since the start of the run; printed with each violation. */
export interface TimelineEntry {
  at: number;
  text: string;
}

const startedAt = performance.now();

/** Elapsed time, because some faults change the clock. */
export function elapsedMs(): number {
  return performance.now() - startedAt;
}

export class Timeline {
  readonly entries: TimelineEntry[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  add(text: string): void {
    const entry = { at: elapsedMs(), text };
    this.entries.push(entry);
    this.#print(lineOf(entry));
  }

  since(at: number): string[] {
    return this.entries.filter((entry) => entry.at >= at).map(lineOf);
  }
}

export function lineOf({ at, text }: TimelineEntry): string {
  return `${(at / 1000).toFixed(3).padStart(9)} s  ${text}`;
}
