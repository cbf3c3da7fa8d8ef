import type { LogFile } from "../../bus/log-file.ts";
import type { Clock } from "../../clock.ts";

interface KeptRecord {
  offset: number;
  atMs: number;
  body: Uint8Array;
}

export interface KeptRecordsOptions {
  windowMs: number;
  maxBytes: number;
  /** Null: the records end with the process. */
  file: LogFile | null;
  steady: Clock;
}

/** The last records of one log, for workers that start, and in a file for the next supervisor. */
export class KeptRecords {
  readonly #options: KeptRecordsOptions;
  #records: KeptRecord[] = [];
  /** Index of the oldest kept record. */
  #from = 0;
  #bytes = 0;

  constructor(options: KeptRecordsOptions) {
    this.#options = options;
    const nowMs = options.steady.now();
    for (const { offset, ageMs, value } of options.file?.load() ?? [])
      this.#keep({ offset, atMs: nowMs - ageMs, body: Buffer.from(JSON.stringify(value)) });
  }

  /** Offset of the newest record; undefined: there is none. */
  get lastOffset(): number | undefined {
    return this.#records.at(-1)?.offset;
  }

  *all(): Generator<KeptRecord> {
    this.dropOld();
    for (let index = this.#from; index < this.#records.length; index++)
      yield this.#records[index] as KeptRecord;
  }

  add(offset: number, body: Uint8Array): void {
    const { steady, file } = this.#options;
    // A copy, because the body is part of a larger piece of memory.
    this.#keep({ offset, atMs: steady.now(), body: Uint8Array.from(body) });
    file?.add(offset, `[${Buffer.from(body).toString()}]`);
  }

  /** Call before records are delivered: writes all new ones together. */
  write(): void {
    this.#options.file?.write();
  }

  /** Keeps the newest record over the maximum age: a client may resume from it. */
  dropOld(): void {
    const before = this.#options.steady.now() - this.#options.windowMs;
    while ((this.#records[this.#from + 1]?.atMs ?? Number.POSITIVE_INFINITY) < before) this.#drop();
  }

  close(): void {
    this.write();
    this.#options.file?.close();
  }

  #keep(record: KeptRecord): void {
    this.#records.push(record);
    this.#bytes += record.body.byteLength;
    while (this.#bytes > this.#options.maxBytes && this.#records.length - this.#from > 1) this.#drop();
  }

  /** Removes in large steps: an array that loses its first element copies all others. */
  #drop(): void {
    this.#bytes -= this.#records[this.#from]?.body.byteLength ?? 0;
    this.#from++;
    if (this.#from < 1024 || this.#from < this.#records.length / 2) return;
    this.#records = this.#records.slice(this.#from);
    this.#from = 0;
  }
}
