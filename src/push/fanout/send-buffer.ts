import type { Clock } from "../../clock.ts";
import { closeCodes, type Socket } from "../connection/connection.ts";
import { Backlog } from "./backlog.ts";

export interface SendBufferOptions {
  maxMessageBytes: number;
  sendBufferBytes: number;
  sendBufferTotalBytes: number;
  slowConsumerTimeoutMs: number;
}

/** Unsent bytes of a connection that the last sweep found behind. */
interface Lag {
  bytes: number;
  progressAtMs: number;
}

/** JSON writes one byte as up to six: a control character becomes `\u0001`. */
const maxEscapedBytes = 6;
/** What stands around `data` in a frame: its head, id and target. */
const envelopeBytes = 64 * 1024;
/** Answers and pings that may stand beside messages: they alone close nobody. */
const answerBytes = 64 * 1024;

/** A reader that has no room for its next message is closed when it has taken nothing for this long. */
const patienceMs = 1000;

/**
 * Watches unsent bytes, so that memory stays bounded and nobody is skipped silently: over the limit of one connection,
 * or without progress for too long, it is closed with 4102; over the limit of all, the largest go first.
 */
export class SendBuffers {
  readonly #options: SendBufferOptions;
  readonly #clock: Clock;
  readonly #lagging = new Map<Socket, Lag>();
  /** What those who are behind have yet to be sent; its bytes are unsent ones too. */
  readonly backlog = new Backlog();
  #bufferedBytes = 0;
  /** A single message larger than the send buffer must still fit, or it would close even those who keep up. */
  #largestFrameBytes = 0;

  /** Whatever is published, no frame is larger. */
  readonly #maxFrameBytes: number;

  constructor(options: SendBufferOptions, clock: Clock) {
    this.#options = options;
    this.#maxFrameBytes = maxEscapedBytes * (options.maxMessageBytes + envelopeBytes);
    this.#clock = clock;
  }

  /**
   * The runtime drops silently above this. A buffer grows by half a send buffer and one frame between two sweeps, and each
   * sweep closes what is over our own limit: this one is never reached.
   */
  get runtimeLimitBytes(): number {
    return 2 * this.#limitWith(this.#maxFrameBytes);
  }

  /** As of the last sweep. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  get lagging(): number {
    return this.#lagging.size;
  }

  /** The rest of the limit of all is for what the runtime holds. */
  get maxBacklogBytes(): number {
    return this.#options.sendBufferTotalBytes / 4;
  }

  /** A turn ends once this much was published: no buffer can grow by more than that, and one message, unseen. */
  get turnBytes(): number {
    return this.#options.sendBufferBytes / 2;
  }

  /** To one connection alone: answers, and what it missed. */
  send(socket: Socket, text: string): void {
    const sent = socket.send(text);
    if (sent > 0 || text === "") return;
    if (sent === 0) {
      this.closeSlow(socket);
      return;
    }
    this.noteFrame(Buffer.byteLength(text));
    this.#watch(socket, socket.getBufferedAmount());
  }

  /** Whether a frame fits beside what is unsent; one that is larger than the buffer needs all of it. */
  hasRoom(socket: Socket, bytes: number): boolean {
    const buffered = socket.getBufferedAmount();
    return buffered === 0 || buffered + bytes <= this.#options.sendBufferBytes;
  }

  noteFrame(bytes: number): void {
    if (bytes > this.#largestFrameBytes) this.#largestFrameBytes = Math.min(bytes, this.#maxFrameBytes);
  }

  /** Looks at these connections and at all that were behind before. */
  sweep(sockets: Iterable<Socket>): void {
    for (const socket of sockets) {
      const bytes = socket.getBufferedAmount();
      if (bytes > 0) this.#watch(socket, bytes);
    }
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
        this.closeSlow(socket);
      else total += bytes;
    }
    this.#bufferedBytes = total + this.backlog.bytes;
    if (this.#bufferedBytes > this.#options.sendBufferTotalBytes) this.#closeLargest();
    if (this.#lagging.size === 0) this.#largestFrameBytes = 0;
  }

  /** Called when the runtime could write: the reader is taking something, even if more is added than it takes. */
  progressed(socket: Socket): void {
    const lag = this.#lagging.get(socket);
    if (lag) lag.progressAtMs = this.#clock.now();
  }

  forget(socket: Socket): void {
    this.#lagging.delete(socket);
  }

  /** Those who were behind at the last sweep and cannot take so much more. */
  withoutRoomFor(bytes: number): Socket[] {
    const found: Socket[] = [];
    for (const socket of this.#lagging.keys()) if (!this.hasRoom(socket, bytes)) found.push(socket);
    return found;
  }

  /** Whether it has taken nothing for so long that its next message need not wait for it. */
  isStalled(socket: Socket): boolean {
    const { progressAtMs } = this.#watch(socket, socket.getBufferedAmount());
    return this.#clock.now() - progressAtMs >= patienceMs;
  }

  #watch(socket: Socket, bytes: number): Lag {
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
      this.closeSlow(socket);
    }
  }

  closeSlow(socket: Socket): void {
    this.#lagging.delete(socket);
    socket.close(closeCodes.slowConsumer, "slow consumer");
  }
}
