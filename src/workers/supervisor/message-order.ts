import type { SharedTopic } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { ToWorker } from "../protocol.ts";

/** A worker that receives messages. */
export interface Receiver {
  readonly worker: number;
  send(header: ToWorker, body?: Uint8Array): void;
}

export interface MessageOrderOptions {
  /** The limits of the workers' resume rings. */
  maxMessages: number;
  maxBytes: number;
  maxAgeMs: number;
  clock: Clock;
}

interface Unfinished {
  seq: number;
  atMs: number;
  affected: number;
  onHandled(affected: number): void;
}

/** The messages for one worker. */
interface Delivery {
  handled: number;
  sent: number;
  waiting: { seq: number; topic: SharedTopic; body: Uint8Array }[];
  waitingBytes: number;
}

interface Kept {
  body: Uint8Array;
  position: number;
  atMs: number;
}

/** Bursts are collected for this long. A single message is sent at once. */
const collectMs = 1;
/** Above this, messages are sent to a worker although it is busy. */
const maxWaitingBytes = 256 * 1024;
/** A publish does not wait longer for a worker. */
const handledWithinMs = 2_000;

/**
 * Puts the messages of all workers into one order and sends each to every worker. A publish is done when every worker has
 * handled its message. The last broadcasts are kept for workers that start, so that clients can resume on them.
 */
export class MessageOrder {
  readonly #options: MessageOrderOptions;
  readonly #receivers = new Map<Receiver, Delivery>();
  /** In order. */
  readonly #unfinished: Unfinished[] = [];
  readonly #kept: Kept[] = [];
  /** Index of the oldest kept message. */
  #keptFrom = 0;
  #keptBytes = 0;
  #seq = 0;
  #broadcasts = 0;
  /** Messages since the last sending, and those that it sent. */
  #collected = 0;
  #lastCollected = 0;

  constructor(options: MessageOrderOptions) {
    this.#options = options;
  }

  get broadcasts(): number {
    return this.#broadcasts;
  }

  get unfinished(): number {
    return this.#unfinished.length;
  }

  /** `onHandled` gets the number of affected connections on all workers. */
  publish(topic: SharedTopic, body: Uint8Array, onHandled: (affected: number) => void): void {
    const seq = ++this.#seq;
    if (topic === "broadcast") this.#keep(body);
    this.#unfinished.push({ seq, atMs: this.#options.clock.now(), affected: 0, onHandled });
    for (const delivery of this.#receivers.values()) {
      delivery.waiting.push({ seq, topic, body });
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
    for (const [receiver, delivery] of this.#receivers) this.#sendIfIdle(receiver, delivery);
  }

  /** Bytes that wait until the worker has handled earlier messages. */
  waitingBytes(receiver: Receiver): number {
    return this.#receivers.get(receiver)?.waitingBytes ?? 0;
  }

  /** Call before an answer that must not arrive before the messages that are ordered now. */
  sendWaiting(receiver: Receiver): void {
    const delivery = this.#receivers.get(receiver);
    if (!delivery) return;
    for (const { seq, topic, body } of delivery.waiting) {
      receiver.send({ type: "message", seq, topic }, body);
      delivery.sent = seq;
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

  /** From now on the worker receives all messages. */
  join(receiver: Receiver): void {
    this.dropOld();
    const nowMs = this.#options.clock.now();
    for (const { body, position, atMs } of this.#kept.slice(this.#keptFrom))
      receiver.send({ type: "kept", position, ageMs: nowMs - atMs }, body);
    receiver.send({ type: "live", position: this.#broadcasts });
    this.#receivers.set(receiver, { handled: this.#seq, sent: this.#seq, waiting: [], waitingBytes: 0 });
  }

  leave(receiver: Receiver): void {
    if (this.#receivers.delete(receiver)) this.#finish();
  }

  /** The worker has handled all messages up to `seq`; `counts` has pairs of a number and its affected connections. */
  handled(receiver: Receiver, seq: number, counts: readonly number[]): void {
    const delivery = this.#receivers.get(receiver);
    if (!delivery) return;
    delivery.handled = seq;
    this.#sendIfIdle(receiver, delivery);
    const first = this.#unfinished[0]?.seq ?? 0;
    for (let at = 0; at < counts.length; at += 2) {
      const unfinished = this.#unfinished[(counts[at] ?? 0) - first];
      if (unfinished) unfinished.affected += counts[at + 1] ?? 0;
    }
    this.#finish();
  }

  /** A worker that hangs does not delay publishers: they get the number of the other workers' connections. */
  finishOverdue(): void {
    const before = this.#options.clock.now() - handledWithinMs;
    let count = 0;
    while ((this.#unfinished[count]?.atMs ?? Number.POSITIVE_INFINITY) <= before) count++;
    this.#finishFirst(count);
  }

  /** Like a resume ring, keeps the newest message over the maximum age: a client may resume from it. */
  dropOld(): void {
    const before = this.#options.clock.now() - this.#options.maxAgeMs;
    while ((this.#kept[this.#keptFrom + 1]?.atMs ?? Number.POSITIVE_INFINITY) < before) this.#drop();
  }

  #keep(body: Uint8Array): void {
    const { maxMessages, maxBytes, clock } = this.#options;
    const position = this.#broadcasts++;
    if (maxMessages === 0) return;
    // A copy, because the body is part of a larger piece of memory.
    this.#kept.push({ body: Uint8Array.from(body), position, atMs: clock.now() });
    this.#keptBytes += body.byteLength;
    while (this.#keptCount > maxMessages || (this.#keptBytes > maxBytes && this.#keptCount > 1)) this.#drop();
  }

  get #keptCount(): number {
    return this.#kept.length - this.#keptFrom;
  }

  /** Removes in large steps: an array that loses its first element copies all others. */
  #drop(): void {
    this.#keptBytes -= this.#kept[this.#keptFrom]?.body.byteLength ?? 0;
    this.#keptFrom++;
    if (this.#keptFrom < 1024 || this.#keptFrom < this.#kept.length / 2) return;
    this.#kept.splice(0, this.#keptFrom);
    this.#keptFrom = 0;
  }

  #finish(): void {
    let handled = this.#seq;
    for (const delivery of this.#receivers.values()) handled = Math.min(handled, delivery.handled);
    let count = 0;
    while ((this.#unfinished[count]?.seq ?? Number.POSITIVE_INFINITY) <= handled) count++;
    this.#finishFirst(count);
  }

  #finishFirst(count: number): void {
    if (count === 0) return;
    for (const { onHandled, affected } of this.#unfinished.splice(0, count)) onHandled(affected);
  }
}
