import type { Clock } from "../../clock.ts";
import { closeCodes, type Socket } from "../connection/connection.ts";
import { isWorthCompressing } from "./compression.ts";
import { SharedBacklog } from "./shared-backlog.ts";

export interface SendBufferOptions {
  /** Whether WebSockets that negotiated it get compressed messages. */
  compresses: boolean;
  maxMessageBytes: number;
  sendBufferBytes: number;
  sendBufferTotalBytes: number;
  slowConsumerTimeoutMs: number;
}

/** A connection with unsent bytes. */
interface Lag {
  bytes: number;
  progressAtMs: number;
}

/** JSON escapes one byte as up to six: a control character becomes `\u0001`. */
const maxEscapedBytes = 6;
/** Upper bound of a frame without `data`: fixed text, id and target. */
const envelopeBytes = 64 * 1024;
/** Room for replies and pings on top of messages: they alone never close a connection. */
const answerBytes = 64 * 1024;

/** A backlog reader without room for its next message is closed after this long without progress. */
const stallMs = 1000;

/**
 * Limits unsent bytes, so that memory is bounded and no connection loses a message silently. A connection over its limit
 * or without progress for too long is closed with 4102; over the limit of all connections, the largest are closed first.
 */
export class SendBuffers {
  readonly #options: SendBufferOptions;
  readonly #clock: Clock;
  readonly #lagging = new Map<Socket, Lag>();
  /** Its bytes count as unsent too. */
  readonly backlog = new SharedBacklog();
  #bufferedBytes = 0;
  /** A message larger than the send buffer raises the limit, or it would close every recipient. */
  #largestFrameBytes = 0;
  /** Whether a frame was sent whose recipients were not swept yet. */
  #hasUnswept = false;

  /** No frame is larger. */
  readonly #maxFrameBytes: number;

  constructor(options: SendBufferOptions, clock: Clock) {
    this.#options = options;
    this.#maxFrameBytes = maxEscapedBytes * (options.maxMessageBytes + envelopeBytes);
    this.#clock = clock;
  }

  /**
   * The runtime silently drops messages above this. It is never reached: a buffer grows by at most half a send buffer and
   * one frame between two sweeps, and each sweep closes connections over our own limit.
   */
  get runtimeLimitBytes(): number {
    return 2 * this.#limitWith(this.#maxFrameBytes);
  }

  get compresses(): boolean {
    return this.#options.compresses;
  }

  /** As of the last sweep. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  get lagging(): number {
    return this.#lagging.size;
  }

  /** The remaining three quarters are for the buffers of the runtime. */
  get maxBacklogBytes(): number {
    return this.#options.sendBufferTotalBytes / 4;
  }

  /** A turn ends after this many published bytes: a buffer grows by at most that and one message before the next sweep. */
  get turnBytes(): number {
    return this.#options.sendBufferBytes / 2;
  }

  /** Sends to one connection: replies and missed messages. */
  send(socket: Socket, text: string): void {
    const sent = socket.send(text, this.compresses && isWorthCompressing(text));
    if (sent > 0 || text === "") return;
    if (sent === 0) {
      this.closeSlowConsumer(socket);
      return;
    }
    this.noteFrame(Buffer.byteLength(text));
    this.#track(socket, socket.getBufferedAmount());
  }

  /** Whether a frame fits into the send buffer; a frame larger than the buffer needs an empty one. */
  hasRoom(socket: Socket, bytes: number): boolean {
    const buffered = socket.getBufferedAmount();
    return buffered === 0 || buffered + bytes <= this.#options.sendBufferBytes;
  }

  noteFrame(bytes: number): void {
    this.#hasUnswept = true;
    if (bytes > this.#largestFrameBytes) this.#largestFrameBytes = Math.min(bytes, this.#maxFrameBytes);
  }

  /** Checks these connections and all tracked ones. */
  sweep(sockets: Iterable<Socket>): void {
    for (const socket of sockets) {
      const bytes = socket.getBufferedAmount();
      if (bytes > 0) this.#track(socket, bytes);
    }
    this.#hasUnswept = false;
    this.sweepLagging();
  }

  sweepLagging(): void {
    const nowMs = this.#clock.now();
    let total = 0;
    for (const [socket, lag] of this.#lagging) {
      const bytes = socket.getBufferedAmount();
      if (bytes === 0) {
        this.#lagging.delete(socket);
        continue;
      }
      if (bytes < lag.bytes) lag.progressAtMs = nowMs;
      lag.bytes = bytes;
      if (bytes > this.#limit || nowMs - lag.progressAtMs >= this.#options.slowConsumerTimeoutMs)
        this.closeSlowConsumer(socket);
      else total += bytes;
    }
    this.#bufferedBytes = total + this.backlog.bytes;
    if (this.#bufferedBytes > this.#options.sendBufferTotalBytes) this.#closeLargest();
    if (this.#lagging.size === 0 && !this.#hasUnswept) this.#largestFrameBytes = 0;
  }

  /** Call when the runtime wrote to the socket: the client reads, even if its buffer grows. */
  noteProgress(socket: Socket): void {
    const lag = this.#lagging.get(socket);
    if (lag) lag.progressAtMs = this.#clock.now();
  }

  forget(socket: Socket): void {
    this.#lagging.delete(socket);
  }

  /** Tracked connections without room for `bytes` more. */
  withoutRoomFor(bytes: number): Socket[] {
    const found: Socket[] = [];
    for (const socket of this.#lagging.keys()) if (!this.hasRoom(socket, bytes)) found.push(socket);
    return found;
  }

  /** Whether the client has read nothing for `stallMs`. */
  isStalled(socket: Socket): boolean {
    const { progressAtMs } = this.#track(socket, socket.getBufferedAmount());
    return this.#clock.now() - progressAtMs >= stallMs;
  }

  #track(socket: Socket, bytes: number): Lag {
    const known = this.#lagging.get(socket);
    if (known) return known;
    const lag = { bytes, progressAtMs: this.#clock.now() };
    this.#lagging.set(socket, lag);
    return lag;
  }

  get #limit(): number {
    return this.#limitWith(this.#largestFrameBytes);
  }

  #limitWith(frameBytes: number): number {
    return Math.max(this.#options.sendBufferBytes, frameBytes) + answerBytes;
  }

  #closeLargest(): void {
    const largestFirst = [...this.#lagging].sort(([, a], [, b]) => b.bytes - a.bytes);
    for (const [socket, { bytes }] of largestFirst) {
      if (this.#bufferedBytes <= this.#options.sendBufferTotalBytes) return;
      this.#bufferedBytes -= bytes;
      this.closeSlowConsumer(socket);
    }
  }

  closeSlowConsumer(socket: Socket): void {
    this.#lagging.delete(socket);
    socket.close(closeCodes.slowConsumer, "slow consumer");
  }
}
