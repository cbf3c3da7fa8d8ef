import type { PresenceFold } from "./presence-fold.ts";
import type { PresenceReport } from "./presence-record.ts";

const perWrite = 500;

/** Writes the events of the fold for other services, in order. A write that may have failed is repeated. */
export class EventWriter {
  readonly #fold: PresenceFold;
  readonly #write: (reports: readonly PresenceReport[]) => Promise<void>;
  readonly #onFailed: () => void;
  #writing: Promise<boolean> | null = null;
  readonly #written = new WeakSet<PresenceReport>();
  #writtenUpTo = -1;

  constructor(
    fold: PresenceFold,
    write: (reports: readonly PresenceReport[]) => Promise<void>,
    onFailed: () => void,
  ) {
    this.#fold = fold;
    this.#write = write;
    this.#onFailed = onFailed;
  }

  /** Offset of the record whose events were written last. */
  get writtenUpTo(): number {
    return this.#writtenUpTo;
  }

  /** Writes the next events, unless it is writing already. */
  write(onWritten: (upTo: number) => void): void {
    if (this.#writing || this.#next().length === 0) return;
    this.#writing = this.#writeNext().finally(() => {
      this.#writing = null;
    });
    void this.#writing.then((isWritten) => {
      if (!isWritten) return;
      onWritten(this.#writtenUpTo);
      this.write(onWritten);
    });
  }

  /** Rejects if an event cannot be written. */
  async writeAll(): Promise<void> {
    await this.#writing;
    while (this.#next().length > 0)
      if (!(await this.#writeNext())) throw new Error("the events could not be written");
  }

  async #writeNext(): Promise<boolean> {
    const reports = this.#next();
    try {
      await this.#write(reports);
      for (const report of reports) this.#written.add(report);
      this.#writtenUpTo = reports.at(-1)?.offset ?? this.#writtenUpTo;
      return true;
    } catch {
      this.#onFailed();
      return false;
    }
  }

  /** All events of a record are written together, because an offset says how far the writer has come. */
  #next(): PresenceReport[] {
    const reports = this.#fold.unwritten.filter((report) => !this.#written.has(report));
    const last = reports[Math.min(perWrite, reports.length) - 1];
    return last ? reports.filter(({ offset }) => offset <= last.offset) : [];
  }
}
