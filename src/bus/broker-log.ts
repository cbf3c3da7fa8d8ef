import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { isObject, parseJson } from "../json.ts";
import type { Logger } from "../logger.ts";
import { isMarker, type Log, type LogFigures, type LogName, type LogReader, type LogRecord } from "./log.ts";
import { RepeatedAppends } from "./repeated-appends.ts";

/** A record as the broker delivered it. */
export interface BrokerRecord {
  offset: number;
  body: unknown;
  /** When it was appended, if the broker knows. */
  atMs?: number;
}

/** Where a session starts to read. `offset` is that of the last handled record, which must arrive again. */
export type StartPosition = { offset: number } | { ageMs: number };

export interface BrokerLogOptions {
  name: LogName;
  append(name: LogName, value: { id: string }): Promise<void>;
  /** Whether the broker leaves out no offset, so that a missing one is a missing record. */
  isContiguous: boolean;
  clock: Clock;
  log: Logger;
}

/**
 * What this instance knows of one log, across sessions: the last handled record, whether reading has caught up, and the
 * marker that it waits for. Batches are handled one at a time.
 */
export class BrokerLog implements Log {
  readonly name: LogName;
  readonly #options: BrokerLogOptions;
  readonly #repeatedAppends = new RepeatedAppends();
  #reader: LogReader | undefined;
  #windowMs = 0;
  #last: { offset: number; id: string } | undefined;
  #mustRepeatLast = false;
  #receiving: Promise<void> | undefined;
  #handledAtMs = 0;
  #awaitedMarker: { id: string; onHandled(): void } | undefined;
  /** A marker that was confirmed and did not arrive in the session before. */
  #missingMarker: string | undefined;
  #first: LogRecord | undefined;
  #startedAt: number | undefined;
  #startingReadMs = 0;
  #isCaughtUp = false;
  /** Whether the session has read up to the end: later records are appended just now, whatever the clocks say. */
  #isLive = false;
  /** When the newest record was appended, as far as known. */
  #newestAtMs = 0;
  #arrived = 0;
  #bounds = { oldest: -1, latest: -1 };

  constructor(options: BrokerLogOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async append(value: { id: string }): Promise<null> {
    await this.#options.append(this.name, value);
    return null;
  }

  read(windowMs: number, reader: LogReader): void {
    this.#windowMs = windowMs;
    this.#reader = reader;
  }

  get isRead(): boolean {
    return this.#reader !== undefined;
  }

  /** Records that arrived until now. */
  get arrived(): number {
    return this.#arrived;
  }

  get isHandling(): boolean {
    return this.#receiving !== undefined;
  }

  figures(): LogFigures {
    const offset = this.#last?.offset ?? -1;
    const { oldest, latest } = this.#bounds;
    return {
      offset,
      lagRecords: Math.max(0, latest - offset),
      lagSeconds: this.isHandling ? Math.max(0, (Date.now() - this.#handledAtMs) / 1000) : 0,
      oldestOffset: oldest,
      startingReadSeconds: this.#startingReadMs / 1000,
    };
  }

  /** A session starts to read, after what the session before has received is handled. */
  async begin(): Promise<StartPosition> {
    await this.#receiving?.catch(() => {});
    this.#startedAt ??= this.#options.clock.elapsed();
    this.#isLive = false;
    this.#mustRepeatLast = this.#last !== undefined;
    return this.#last ? { offset: this.#last.offset } : { ageMs: this.#windowMs };
  }

  /** Whether the session still waits for the last record of the session before. */
  get awaitsRepeat(): boolean {
    return this.#mustRepeatLast;
  }

  /** The offsets that the broker has, as far as the session knows. */
  noteBounds(bounds: { oldest?: number; latest?: number }): void {
    this.#bounds = { ...this.#bounds, ...bounds };
  }

  /** Returns when the records are handled. Throws if the log is another one than before. */
  async receive(records: readonly BrokerRecord[]): Promise<void> {
    this.#arrived += records.length;
    this.#receiving = this.#receive(records).finally(() => {
      this.#receiving = undefined;
    });
    await this.#receiving;
  }

  async #receive(records: readonly BrokerRecord[]): Promise<void> {
    let previous = this.#last?.offset;
    let batch: LogRecord[] = [];
    for (const { offset, body, atMs } of records) {
      const value = decode(body);
      const record: LogRecord = {
        offset,
        id: idOf(offset, value, body),
        ageMs: this.#ageOf(value, atMs),
        value,
      };
      if (this.#mustRepeatLast) {
        this.#mustRepeatLast = false;
        if (this.#isLast(record)) continue;
        if (offset <= (previous ?? -1)) throw this.createdAgain();
        this.reportLoss();
      } else if (previous !== undefined && offset <= previous) {
        continue;
      } else if (this.#options.isContiguous && previous !== undefined && offset > previous + 1) {
        await this.#handle(batch);
        batch = [];
        this.reportLoss();
      }
      previous = offset;
      if (record.id === this.#missingMarker) this.#missingMarker = undefined;
      this.#first ??= record;
      record.isRepeat = this.#repeatedAppends.isRepeat(value);
      batch.push(record);
    }
    await this.#handle(batch);
  }

  /** Records after the last one may be missing. */
  reportLoss(): void {
    this.#reader?.lost();
  }

  /** The log does not have the last record: it was deleted and created again. The next session reads the window. */
  createdAgain(): Error {
    this.#last = undefined;
    this.#bounds = { oldest: -1, latest: -1 };
    this.reportLoss();
    return new Error(`the log ${this.name} was deleted and created again, or lost its last records`);
  }

  /** Resolves when the record with this id is handled. */
  awaitMarker(id: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaitedMarker = { id, onHandled: resolve };
    return promise;
  }

  /** The marker is confirmed and does not arrive. If the log does not have it, it did not get other records either. */
  noteMissing(id: string): void {
    this.#missingMarker = id;
  }

  /** The session has read up to the end. */
  endReading(): void {
    this.#isLive = true;
    if (this.#missingMarker !== undefined) this.reportLoss();
    this.#missingMarker = undefined;
    if (this.#isCaughtUp) return;
    this.#isCaughtUp = true;
    this.#startingReadMs = this.#options.clock.elapsed() - (this.#startedAt ?? 0);
    this.#warnIfCut();
    this.#reader?.caughtUp();
  }

  /** The broker limits a log by size too, and then keeps less than the window at a high rate. */
  #warnIfCut(): void {
    const { offset = 0, ageMs = this.#windowMs } = this.#first ?? {};
    if (offset === 0 || offset !== this.#bounds.oldest || ageMs >= this.#windowMs) return;
    this.#options.log.warn(
      { log: this.name, seconds: Math.round(ageMs / 1000), neededSeconds: this.#windowMs / 1000 },
      "the queue keeps too little: idempotency keys and positions that are older are not known",
    );
  }

  #isLast({ offset, id }: LogRecord): boolean {
    return this.#last?.offset === offset && this.#last.id === id;
  }

  /** A record that names no time is as old as the one before it. None is older: the clock of its writer was slow. */
  #ageOf(value: unknown, atMs = timeIn(value)): number {
    const nowMs = Date.now();
    this.#newestAtMs = Math.min(nowMs, Math.max(this.#newestAtMs, atMs ?? 0));
    return this.#isLive || this.#newestAtMs === 0 ? 0 : nowMs - this.#newestAtMs;
  }

  async #handle(batch: LogRecord[]): Promise<void> {
    const [first] = batch;
    const last = batch.at(-1);
    if (!first || !last) return;
    this.#handledAtMs = Date.now() - first.ageMs;
    await this.#pass(batch);
    this.#last = { offset: last.offset, id: last.id };
    const awaited = this.#awaitedMarker;
    if (!awaited || !batch.some(({ id, value }) => id === awaited.id && isMarker(value))) return;
    this.#awaitedMarker = undefined;
    awaited.onHandled();
  }

  async #pass(batch: LogRecord[]): Promise<void> {
    try {
      await this.#reader?.receive(batch);
    } catch (error) {
      // The batch counts as handled: a repeat would fail in the same way.
      this.#options.log.error(
        { log: this.name, error: messageOf(error) },
        "records of the queue could not be handled",
      );
      this.reportLoss();
    }
  }
}

/** A record of another service may have no id. Every reader makes the same one from offset and body. */
function idOf(offset: number, value: unknown, body: unknown): string {
  if (isObject(value) && (typeof value.id === "string" || typeof value.id === "number"))
    return String(value.id);
  const text = Buffer.isBuffer(body) || typeof body === "string" ? body : JSON.stringify(body);
  return `${offset}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/** A body that is not JSON is passed on as text. */
function decode(body: unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString() : body;
  if (typeof text !== "string") return text;
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** Records of Slipway, of whatever version, name the time at which they were appended. */
function timeIn(value: unknown): number | undefined {
  const isOwn = isObject(value) && typeof value.v === "number";
  return isOwn && typeof value.ts === "number" ? value.ts : undefined;
}
