import type { BroadcastMessage } from "../message/message.ts";

/** What a message takes beside its text. */
const messageOverheadBytes = 256;

/**
 * Messages that connections which fell behind have yet to be sent, kept once for all of them. Positions count from 0 and
 * never repeat. How much may be kept is the caller's to limit.
 */
export class Backlog {
  readonly #messages: BroadcastMessage[] = [];
  #start = 0;
  #bytes = 0;

  get end(): number {
    return this.#start + this.#messages.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(message: BroadcastMessage): void {
    this.#messages.push(message);
    this.#bytes += bytesOf(message);
  }

  at(position: number): BroadcastMessage | undefined {
    return this.#messages[position - this.#start];
  }

  /** Everybody has what stands before this position. */
  forgetBefore(position: number): void {
    const forgotten = this.#messages.splice(0, Math.max(0, position - this.#start));
    for (const message of forgotten) this.#bytes -= bytesOf(message);
    this.#start += forgotten.length;
  }
}

function bytesOf({ data }: BroadcastMessage): number {
  return Buffer.byteLength(data) + messageOverheadBytes;
}
