import type { Clock } from "../../clock.ts";
import { RetryDelay } from "../events/retry-delay.ts";
import type { PresenceFold } from "./presence-fold.ts";
import type { EventDestination, PresenceReport } from "./presence-record.ts";

/** Takes events for other services. */
export interface EventSink {
  to: EventDestination;
  /** Rejects if one may not have arrived. */
  write(reports: readonly PresenceReport[]): Promise<void>;
  onFailed(): void;
  /** Called on the process that writes events: too many wait, and some were left out. */
  onLeftOut(count: number): void;
}

export interface EventWriterParts {
  fold: PresenceFold;
  sink: EventSink;
  /** Whether this process is the one that writes events. */
  isReporter: () => boolean;
  /** All events up to the record with this offset have arrived. */
  onWritten: (upTo: number) => void;
  steady: Clock;
}

const perWrite = 500;

/** Writes the events of the fold to one destination, in order. A write that may have failed is repeated. */
export class EventWriter {
  readonly #parts: EventWriterParts;
  readonly #delay = new RetryDelay();
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<unknown> | null = null;
  /** The events of the last write, if it failed. */
  #failed: PresenceReport[] = [];
  /** Also events of a record of which others are still to be written. */
  readonly #written = new WeakSet<PresenceReport>();
  #writtenUpTo = -1;

  constructor(parts: EventWriterParts) {
    this.#parts = parts;
  }

  get to(): EventDestination {
    return this.#parts.sink.to;
  }

  /** Offset of the last record of which all events were written. */
  get writtenUpTo(): number {
    return this.#writtenUpTo;
  }

  /** Writes events until none is left or a write fails, unless it is writing already. */
  write(): void {
    if (this.#writing || this.#parts.steady.now() < this.#retryAtMs) return;
    this.#writing = this.#writeUntilFailure().finally(() => {
      this.#writing = null;
    });
  }

  /** Rejects if an event cannot be written. */
  async writeAll(): Promise<void> {
    await this.#writing;
    while (this.#next().length > 0)
      if (!(await this.#writeNext())) throw new Error("the events could not be written");
  }

  async #writeUntilFailure(): Promise<void> {
    const { isReporter, onWritten } = this.#parts;
    while (isReporter() && this.#next().length > 0) {
      const before = this.#writtenUpTo;
      if (!(await this.#writeNext())) return;
      if (this.#writtenUpTo !== before) onWritten(this.#writtenUpTo);
    }
  }

  async #writeNext(): Promise<boolean> {
    const { sink, steady } = this.#parts;
    const reports = this.#next();
    try {
      await sink.write(reports);
    } catch {
      sink.onFailed();
      this.#failed = reports;
      this.#retryAtMs = steady.now() + this.#delay.failed();
      return false;
    }
    this.#delay.succeeded();
    this.#failed = [];
    for (const report of reports) this.#written.add(report);
    const last = reports.at(-1)?.offset ?? this.#writtenUpTo;
    // A record may have more events than one write takes.
    this.#writtenUpTo = this.#next()[0]?.offset === last ? last - 1 : last;
    return true;
  }

  /** A write that failed is repeated as it was, so that the receiver recognises it. */
  #next(): PresenceReport[] {
    const { fold } = this.#parts;
    const reports = fold.unwritten(this.to).filter((report) => !this.#written.has(report));
    const isRepeat = this.#failed.length > 0 && this.#failed.every((report, at) => report === reports[at]);
    return isRepeat ? this.#failed : reports.slice(0, perWrite);
  }
}
