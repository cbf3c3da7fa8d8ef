import type { Clock } from "../../clock.ts";
import { closeCodes, type Socket } from "../connection/connection.ts";
import { isWorthCompressing } from "./compression.ts";

export interface SendBufferOptions {
  /** Whether WebSockets that negotiated it get compressed messages. */
  compresses: boolean;
  maxMessageBytes: number;
  sendBufferBytes: number;
  sendBufferTotalBytes: number;
  slowConsumerTimeoutMs: number;
}

/** Unsent bytes of a connection or of all, and when they were last seen to shrink. */
interface Unsent {
  bytes: number;
  progressAtMs: number;
}

/** JSON escapes one byte as up to six: a control character becomes `\u0001`. */
const maxEscapedBytes = 6;
/** Upper bound of a frame without `data`: fixed text, id and target. */
const envelopeBytes = 64 * 1024;
/** Room for replies and pings on top of messages: they alone never close a connection. */
const answerBytes = 64 * 1024;

/** A connection above its send buffer is closed when it has read nothing for this long. */
const stallMs = 1000;
/** More time between two sweeps does not count: this process was suspended or busy, and saw nobody read. */
const maxSweepGapMs = 250;

/**
 * Closes slow consumers with 4102, so that the memory for unsent bytes is bounded and no connection loses a message
 * silently. Over the limit of all connections, the largest are closed first.
 */
export class SendBuffers {
  readonly #options: SendBufferOptions;
  readonly #clock: Clock;
  readonly #lagging = new Map<Socket, Unsent>();
  #bufferedBytes = 0;
  #sweptAtMs: number;
  /** Time in which this process could see who reads. */
  #watchedMs = 0;
  /** The unsent bytes that a burst waits for; null: none waits. */
  #awaited: Unsent | null = null;
  /** Not below the largest message, or it would make every recipient a slow consumer. */
  readonly #softLimitBytes: number;
  /** One connection takes at most a quarter of what all may take, but has room for any frame. */
  readonly #hardLimitBytes: number;
  readonly #maxFrameBytes: number;

  constructor(options: SendBufferOptions, clock: Clock) {
    const { maxMessageBytes, sendBufferBytes, sendBufferTotalBytes } = options;
    this.#options = options;
    this.#clock = clock;
    this.#sweptAtMs = clock.now();
    this.#maxFrameBytes = maxEscapedBytes * (maxMessageBytes + envelopeBytes);
    this.#softLimitBytes = Math.max(sendBufferBytes, maxMessageBytes) + answerBytes;
    this.#hardLimitBytes =
      Math.max(sendBufferTotalBytes / 4, sendBufferBytes, this.#maxFrameBytes) + answerBytes;
  }

  /**
   * The runtime silently drops messages above this. It is not reached: between two sweeps a buffer grows by at most one
   * turn and one frame, and a sweep closes connections over the hard limit.
   */
  get runtimeLimitBytes(): number {
    return this.#hardLimitBytes + this.turnBytes + this.#maxFrameBytes + answerBytes;
  }

  /** As of the last sweep. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  get lagging(): number {
    return this.#lagging.size;
  }

  /** A buffer grows by at most this and one message before the next sweep. */
  get turnBytes(): number {
    return this.#options.sendBufferBytes / 2;
  }

  /**
   * Whether a turn may publish so much for one connection, after `bytesOfAll` for all. It begins below half of the total: if
   * one message for each connection is at most half of it, a burst stays within the total.
   */
  fitsTurn(bytes: number, bytesOfAll: number): boolean {
    return bytes <= this.turnBytes && bytesOfAll < this.#options.sendBufferTotalBytes / 4;
  }

  /** Sends to one connection: replies and missed messages. */
  send(socket: Socket, text: string): void {
    const sent = socket.send(text, this.#options.compresses && isWorthCompressing(text));
    if (sent > 0 || text === "") return;
    if (sent === 0) this.closeSlowConsumer(socket);
    else this.#track(socket, socket.getBufferedAmount());
  }

  /** Whether a frame fits into the send buffer; a frame larger than the buffer needs an empty one. */
  hasRoom(socket: Socket, bytes: number): boolean {
    const buffered = socket.getBufferedAmount();
    return buffered === 0 || buffered + bytes <= this.#options.sendBufferBytes;
  }

  /** Checks these connections and all that had unsent bytes before. */
  sweep(sockets: Iterable<Socket>): void {
    for (const socket of sockets) {
      const bytes = socket.getBufferedAmount();
      if (bytes > 0) this.#track(socket, bytes);
    }
    const nowMs = this.#clock.now();
    this.#watchedMs += Math.min(nowMs - this.#sweptAtMs, maxSweepGapMs);
    this.#sweptAtMs = nowMs;
    let total = 0;
    for (const [socket, unsent] of this.#lagging) {
      const bytes = socket.getBufferedAmount();
      if (bytes === 0) {
        this.#lagging.delete(socket);
        continue;
      }
      if (bytes < unsent.bytes) unsent.progressAtMs = this.#watchedMs;
      unsent.bytes = bytes;
      if (this.#isTooSlow(unsent)) this.closeSlowConsumer(socket);
      else total += bytes;
    }
    this.#bufferedBytes = total;
    this.#closeLargest(this.#options.sendBufferTotalBytes);
  }

  /**
   * Whether the next turn of a burst must wait: while half of what may be unsent is unsent, and readers take it. Many
   * healthy readers are thus not closed by a burst. Readers that take nearly nothing do not delay others for longer than a
   * stalled one may stay: the largest are closed.
   */
  mustWait(): boolean {
    const totalBytes = this.#options.sendBufferTotalBytes;
    const bytes = this.#bufferedBytes;
    if (bytes <= totalBytes / 2) {
      this.#awaited = null;
      return false;
    }
    if (this.#awaited === null || bytes <= this.#awaited.bytes - totalBytes / 32)
      this.#awaited = { bytes, progressAtMs: this.#watchedMs };
    else if (this.#watchedMs - this.#awaited.progressAtMs >= stallMs) this.#closeLargest(totalBytes / 2);
    return true;
  }

  /** Call when the runtime wrote to the socket: the client reads, even if its buffer grows. */
  noteProgress(socket: Socket): void {
    const unsent = this.#lagging.get(socket);
    if (unsent) unsent.progressAtMs = this.#watchedMs;
  }

  forget(socket: Socket): void {
    this.#lagging.delete(socket);
  }

  closeSlowConsumer(socket: Socket): void {
    this.#lagging.delete(socket);
    socket.close(closeCodes.slowConsumer, "slow consumer");
  }

  #track(socket: Socket, bytes: number): void {
    if (!this.#lagging.has(socket)) this.#lagging.set(socket, { bytes, progressAtMs: this.#watchedMs });
  }

  #isTooSlow({ bytes, progressAtMs }: Unsent): boolean {
    const { slowConsumerTimeoutMs } = this.#options;
    const isStalledAfterMs =
      bytes > this.#softLimitBytes ? Math.min(stallMs, slowConsumerTimeoutMs) : slowConsumerTimeoutMs;
    return bytes > this.#hardLimitBytes || this.#watchedMs - progressAtMs >= isStalledAfterMs;
  }

  #closeLargest(maxBytes: number): void {
    if (this.#bufferedBytes <= maxBytes) return;
    const largestFirst = [...this.#lagging].sort(([, a], [, b]) => b.bytes - a.bytes);
    for (const [socket, { bytes }] of largestFirst) {
      this.closeSlowConsumer(socket);
      this.#bufferedBytes -= bytes;
      if (this.#bufferedBytes <= maxBytes) return;
    }
  }
}
