import type { Clock } from "../clock.ts";
import { randomToken } from "../secrets.ts";
import type { Log, LogFigures, LogReader, LogRecord, MarkerRecord, Receipts } from "./log.ts";
import type { LogFile } from "./log-file.ts";
import { writtenVersion } from "./record-version.ts";

interface Waiting {
  value: { id: string };
  resolve(affected: number): void;
  reject(cause: unknown): void;
}

/**
 * The first offset of a log without a past. It grows with time, so that an offset of an earlier log is never taken for one
 * that is still to come.
 */
export function firstOffset(clock: Clock): number {
  return Math.floor(clock.now()) * 1024;
}

/** The first record of a log, so that a client can name a position before any message exists. */
export function newMarker(clock: Clock): MarkerRecord {
  return { v: writtenVersion, id: randomToken(9), type: "marker", ts: clock.now() };
}

export interface MemoryLogOptions {
  /** Null: the log ends with the process. */
  file: LogFile | null;
  clock: Clock;
}

/**
 * The log of a single process. Records of one turn of the event loop are written to the file together, then handled
 * together, so that the runtime combines them into one write per socket.
 */
export class MemoryLog implements Log {
  readonly #options: MemoryLogOptions;
  #reader: LogReader | undefined;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #nextOffset = 0;
  #oldestOffset = -1;

  constructor(options: MemoryLogOptions) {
    this.#options = options;
  }

  append(value: { id: string }): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ value, resolve, reject });
      this.#running ??= new Promise((ended) => setImmediate(() => ended(this.#run())));
    });
  }

  /** The window is that of the file. */
  read(_windowMs: number, reader: LogReader): void {
    this.#reader = reader;
  }

  figures(): LogFigures {
    return {
      offset: this.#nextOffset - 1,
      lagRecords: this.#waiting.length,
      lagSeconds: 0,
      oldestOffset: this.#oldestOffset,
      startingReadSeconds: 0,
    };
  }

  /** Reads the file. */
  start(): void {
    const { file, clock } = this.#options;
    const records: LogRecord[] = (file?.load() ?? []).map((stored) => ({ ...stored, id: stored.value.id }));
    this.#nextOffset = (records.at(-1)?.offset ?? firstOffset(clock) - 1) + 1;
    this.#oldestOffset = records[0]?.offset ?? this.#nextOffset;
    if (records.length === 0) records.push(...this.#store([newMarker(clock)]));
    void this.#reader?.receive(records);
    this.#reader?.caughtUp();
  }

  /** Waits for the appends that were begun. */
  async close(): Promise<void> {
    await this.#running;
    this.#options.file?.close();
  }

  /** Records that arrive while a batch is handled form the next batch. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const handling = this.#reader?.receive(this.#store(batch.map(({ value }) => value)));
        const receipts: Receipts = handling instanceof Promise ? await handling : handling;
        for (const [index, { resolve }] of batch.entries()) resolve(receipts?.[index] ?? 0);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = null;
  }

  #store(values: { id: string }[]): LogRecord[] {
    const { file } = this.#options;
    file?.add(this.#nextOffset, JSON.stringify(values));
    file?.write();
    const records: LogRecord[] = [];
    for (const value of values) records.push({ offset: this.#nextOffset++, id: value.id, ageMs: 0, value });
    return records;
  }
}
