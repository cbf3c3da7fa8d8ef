import type { LogFiles } from "../../bus/local.ts";
import type { LogName } from "../../bus/log.ts";
import { firstOffset, newMarker } from "../../bus/memory-log.ts";
import type { Clock } from "../../clock.ts";
import type { ToWorker } from "../protocol.ts";
import { KeptRecords } from "./kept-records.ts";

/** A worker that reads the logs. */
export interface Receiver {
  readonly worker: number;
  send(header: ToWorker, body?: Uint8Array): void;
}

export interface SharedLogOptions {
  /** How long records are kept for workers that start, if they fit into `maxBytes`. */
  windowsMs: Record<LogName, number>;
  maxBytes: number;
  files: LogFiles;
  /** The system clock. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
}

interface Unfinished {
  offset: number;
  atMs: number;
  affected: number;
  onHandled(affected: number): void;
}

/** The records for one worker. */
interface Delivery {
  handled: number;
  sent: number;
  waiting: { offset: number; topic: LogName; body: Uint8Array }[];
  waitingBytes: number;
}

/** Bursts are collected for this long. A single record is sent at once. */
const collectMs = 1;
/** Above this, records are sent to a worker although it is busy. */
const maxWaitingBytes = 256 * 1024;
/** An append does not wait longer for a worker. */
const handledWithinMs = 2_000;

/**
 * The logs of an instance with several workers. Every worker reads every record in the same order; both logs count with
 * one counter. An append is done when every worker has handled the record. The last records are kept for workers
 * that start.
 */
export class SharedLog {
  readonly #options: SharedLogOptions;
  readonly #receivers = new Map<Receiver, Delivery>();
  /** In order. */
  readonly #unfinished: Unfinished[] = [];
  readonly #kept: Record<LogName, KeptRecords>;
  #offset: number;
  #broadcasts = 0;
  /** Records since the last sending, and those that it sent. */
  #collected = 0;
  #lastCollected = 0;

  constructor(options: SharedLogOptions) {
    this.#options = options;
    const { files, windowsMs, maxBytes, clock, steady } = options;
    const keptOf = (name: LogName) =>
      new KeptRecords({ windowMs: windowsMs[name], maxBytes, file: files[name], steady });
    this.#kept = { broadcast: keptOf("broadcast"), control: keptOf("control") };
    const { broadcast, control } = this.#kept;
    const last = Math.max(broadcast.lastOffset ?? -1, control.lastOffset ?? -1);
    this.#offset = last < 0 ? firstOffset(clock) : last + 1;
    if (broadcast.lastOffset === undefined)
      broadcast.add(this.#offset, Buffer.from(JSON.stringify(newMarker(clock))));
  }

  get broadcasts(): number {
    return this.#broadcasts;
  }

  get unfinished(): number {
    return this.#unfinished.length;
  }

  /** `onHandled` gets the number of affected connections on all workers. */
  append(topic: LogName, body: Uint8Array, onHandled: (affected: number) => void): void {
    const offset = ++this.#offset;
    if (topic === "broadcast") this.#broadcasts++;
    this.#kept[topic].add(offset, body);
    this.#unfinished.push({ offset, atMs: this.#options.steady.now(), affected: 0, onHandled });
    for (const delivery of this.#receivers.values()) {
      delivery.waiting.push({ offset, topic, body });
      delivery.waitingBytes += body.byteLength;
    }
    this.#finish();
    this.#collected++;
    if (this.#collected > 1) return;
    // Concurrent publishers are likely to continue: the messages of other workers are already on their way.
    if (this.#lastCollected > 1) setTimeout(() => this.#sendCollected(), collectMs);
    else setImmediate(() => this.#sendCollected());
  }

  #sendCollected(): void {
    this.#lastCollected = this.#collected;
    this.#collected = 0;
    this.#write();
    for (const [receiver, delivery] of this.#receivers) this.#sendIfIdle(receiver, delivery);
  }

  /** Bytes that wait until the worker has handled earlier messages. */
  waitingBytes(receiver: Receiver): number {
    return this.#receivers.get(receiver)?.waitingBytes ?? 0;
  }

  /** Call before an answer that must not arrive before the records that are in the log now. */
  sendWaiting(receiver: Receiver): void {
    const delivery = this.#receivers.get(receiver);
    if (!delivery) return;
    this.#write();
    for (const { offset, topic, body } of delivery.waiting) {
      receiver.send({ type: "record", topic, offset, ageMs: 0 }, body);
      delivery.sent = offset;
    }
    delivery.waiting = [];
    delivery.waitingBytes = 0;
  }

  /**
   * A worker that is busy gets the messages that have arrived meanwhile together, and writes once to each of its sockets
   * for all of them.
   */
  #sendIfIdle(receiver: Receiver, { handled, sent, waitingBytes }: Delivery): void {
    if (handled >= sent || waitingBytes > maxWaitingBytes) this.sendWaiting(receiver);
  }

  /** The worker gets the kept records, and from now on all others. */
  read(receiver: Receiver): void {
    const nowMs = this.#options.steady.now();
    for (const topic of ["broadcast", "control"] as const)
      for (const { body, offset, atMs } of this.#kept[topic].all())
        receiver.send({ type: "record", topic, offset, ageMs: nowMs - atMs }, body);
    receiver.send({ type: "caughtUp" });
    const offset = this.#offset;
    this.#receivers.set(receiver, { handled: offset, sent: offset, waiting: [], waitingBytes: 0 });
  }

  leave(receiver: Receiver): void {
    if (this.#receivers.delete(receiver)) this.#finish();
  }

  /** The worker has handled all records up to `offset`; `counts` has pairs of an offset and its affected connections. */
  handled(receiver: Receiver, offset: number, counts: readonly number[]): void {
    const delivery = this.#receivers.get(receiver);
    // The records before the starting read are not counted.
    if (!delivery || offset <= delivery.handled) return;
    delivery.handled = offset;
    this.#sendIfIdle(receiver, delivery);
    const first = this.#unfinished[0]?.offset ?? 0;
    for (let at = 0; at < counts.length; at += 2) {
      const unfinished = this.#unfinished[(counts[at] ?? 0) - first];
      if (unfinished) unfinished.affected += counts[at + 1] ?? 0;
    }
    this.#finish();
  }

  /** A worker that hangs does not delay publishers: they get the number of the other workers' connections. */
  finishOverdue(): void {
    const before = this.#options.steady.now() - handledWithinMs;
    let count = 0;
    while ((this.#unfinished[count]?.atMs ?? Number.POSITIVE_INFINITY) <= before) count++;
    this.#finishFirst(count);
  }

  close(): void {
    for (const kept of Object.values(this.#kept)) kept.close();
  }

  dropOld(): void {
    for (const kept of Object.values(this.#kept)) kept.dropOld();
  }

  /** Before records are sent to workers, all that wait are written together. */
  #write(): void {
    for (const kept of Object.values(this.#kept)) kept.write();
  }

  #finish(): void {
    let handled = this.#offset;
    for (const delivery of this.#receivers.values()) handled = Math.min(handled, delivery.handled);
    let count = 0;
    while ((this.#unfinished[count]?.offset ?? Number.POSITIVE_INFINITY) <= handled) count++;
    this.#finishFirst(count);
  }

  #finishFirst(count: number): void {
    if (count === 0) return;
    for (const { onHandled, affected } of this.#unfinished.splice(0, count)) onHandled(affected);
  }
}
