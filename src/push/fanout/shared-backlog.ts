import { type PushedMessage, targetsBytes } from "../message/message.ts";

/** Estimated memory of a message besides its text. */
const messageOverheadBytes = 256;

/**
 * Unsent messages of slow consumers, stored once for all of them. Positions count from 0 and never repeat. The caller
 * limits the size.
 */
export class SharedBacklog {
  readonly #messages: PushedMessage[] = [];
  #start = 0;
  #bytes = 0;

  get end(): number {
    return this.#start + this.#messages.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(message: PushedMessage): void {
    this.#messages.push(message);
    this.#bytes += bytesOf(message);
  }

  at(position: number): PushedMessage | undefined {
    return this.#messages[position - this.#start];
  }

  /** Call when all readers are at or beyond this position. */
  forgetBefore(position: number): void {
    const forgotten = this.#messages.splice(0, Math.max(0, position - this.#start));
    for (const message of forgotten) this.#bytes -= bytesOf(message);
    this.#start += forgotten.length;
  }
}

function bytesOf(message: PushedMessage): number {
  return Buffer.byteLength(message.data) + targetsBytes(message) + messageOverheadBytes;
}
