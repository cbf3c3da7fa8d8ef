import { pause } from "../../clock.ts";
import type { ClientMessage, ClientMessageEvent } from "../message/outgoing-event.ts";
import { type EventSender, maxEventsPerRequest } from "./event-sender.ts";
import { RetryDelay } from "./retry-delay.ts";

/** Messages beyond these limits are refused. */
const maxMessages = 10_000;
const maxBytes = 16 * 1024 * 1024;
/** A longer message is sent alone. */
const maxRequestBytes = 512 * 1024;
const collectMs = 10;
const closeWithinMs = 5_000;

interface Waiting {
  event: ClientMessageEvent;
  bytes: number;
}

/** Messages of the clients of this process on their way to push.events-uri, in order. They end with the process. */
export class MessageBuffer {
  readonly #sender: Pick<EventSender, "send">;
  readonly #delay = new RetryDelay();
  readonly #closing = new AbortController();
  #waiting: Waiting[] = [];
  #bytes = 0;
  #sending: Promise<void> | null = null;
  #refused = 0;

  constructor(sender: Pick<EventSender, "send">) {
    this.#sender = sender;
  }

  get count(): number {
    return this.#waiting.length;
  }

  /** Messages that were refused, or not accepted by the receiver before the process ended. */
  get refused(): number {
    return this.#refused;
  }

  /** False: the buffer is full. */
  add({ v, id, ts, node, ...rest }: ClientMessage): boolean {
    const bytes = Buffer.byteLength(rest.data);
    if (this.#waiting.length >= maxMessages || this.#bytes + bytes > maxBytes) {
      this.#refused++;
      return false;
    }
    this.#waiting.push({ event: { v, id, ts, node, type: "message", ...rest }, bytes });
    this.#bytes += bytes;
    this.#sending ??= this.#sendAll();
    return true;
  }

  /** Sends what waits. After a failure, or after some seconds, the rest is lost. */
  async close(): Promise<void> {
    this.#closing.abort();
    const tooLong = Promise.withResolvers<void>();
    const timer = setTimeout(tooLong.resolve, closeWithinMs);
    await Promise.race([this.#sending, tooLong.promise]);
    clearTimeout(timer);
    this.#refused += this.#waiting.length;
    this.#waiting = [];
  }

  async #sendAll(): Promise<void> {
    await pause(collectMs, this.#closing.signal);
    while (this.#waiting.length > 0) {
      const batch = this.#next();
      if (!(await this.#sendUntilAccepted(batch))) break;
      this.#waiting.splice(0, batch.length);
      for (const { bytes } of batch) this.#bytes -= bytes;
    }
    // In the turn of the last check, so that a message that arrives next starts another round.
    this.#sending = null;
  }

  /** False: it was not accepted and the process ends. */
  async #sendUntilAccepted(batch: Waiting[]): Promise<boolean> {
    const { signal } = this.#closing;
    const events = batch.map(({ event }) => event);
    while (true) {
      try {
        await this.#sender.send(events);
        this.#delay.succeeded();
        return true;
      } catch {
        if (signal.aborted) return false;
        await pause(this.#delay.failed(), signal);
      }
    }
  }

  #next(): Waiting[] {
    const batch: Waiting[] = [];
    let bytes = 0;
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes;
      const isFull = batch.length === maxEventsPerRequest || bytes > maxRequestBytes;
      if (isFull && batch.length > 0) break;
      batch.push(waiting);
    }
    return batch;
  }
}
