import type { Socket } from "bun";

/** A JSON header with an optional body, which the receiver need not decode. */
export interface Frame<Header> {
  header: Header;
  body: Buffer;
}

const prefixBytes = 8;
const noBody = Buffer.alloc(0);

/** Reads frames from a stream of bytes: two lengths of four bytes each, then the header, then the body. */
export class FrameReader<Header> {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes that the next frame needs; 0: its lengths are not known yet. */
  #needed = 0;

  /** Returns the complete frames, or null if a frame is larger than `maxBytes`. */
  read(chunk: Uint8Array, maxBytes: number): Frame<Header>[] | null {
    // The runtime reuses the memory of the chunk after the call.
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.byteLength;
    if (this.#bytes < Math.max(prefixBytes, this.#needed)) return [];
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? noBody) : Buffer.concat(this.#chunks);
    const frames: Frame<Header>[] = [];
    let at = 0;
    this.#needed = 0;
    while (bytes.length - at >= prefixBytes) {
      const headerBytes = bytes.readUInt32LE(at);
      const bodyBytes = bytes.readUInt32LE(at + 4);
      const needed = prefixBytes + headerBytes + bodyBytes;
      if (needed > maxBytes) return null;
      if (bytes.length - at < needed) {
        this.#needed = needed;
        break;
      }
      const bodyAt = at + prefixBytes + headerBytes;
      const header = JSON.parse(bytes.toString("utf8", at + prefixBytes, bodyAt)) as Header;
      frames.push({ header, body: bytes.subarray(bodyAt, bodyAt + bodyBytes) });
      at += needed;
    }
    const rest = bytes.subarray(at);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
    return frames;
  }
}

/** Writes frames. Those of one turn of the event loop are one write. */
export class FrameWriter {
  readonly #socket: Pick<Socket<unknown>, "write">;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #isFlushScheduled = false;
  #isBlocked = false;

  constructor(socket: Pick<Socket<unknown>, "write">) {
    this.#socket = socket;
  }

  /** Bytes that the socket has not taken yet. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  send(header: object, body: Uint8Array = noBody): void {
    const text = Buffer.from(JSON.stringify(header));
    const prefix = Buffer.allocUnsafe(prefixBytes);
    prefix.writeUInt32LE(text.length, 0);
    prefix.writeUInt32LE(body.byteLength, 4);
    this.#queue.push(prefix, text);
    if (body.byteLength > 0) this.#queue.push(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    this.#queuedBytes += prefixBytes + text.length + body.byteLength;
    if (this.#isFlushScheduled || this.#isBlocked) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      this.flush();
    });
  }

  /** Call when the socket can take more. */
  flush(): void {
    this.#isBlocked = false;
    if (this.#queue.length === 0) return;
    const bytes = this.#queue.length === 1 ? (this.#queue[0] ?? noBody) : Buffer.concat(this.#queue);
    const written = Math.max(0, this.#socket.write(bytes));
    this.#queuedBytes = bytes.length - written;
    this.#queue = written < bytes.length ? [bytes.subarray(written)] : [];
    this.#isBlocked = this.#queue.length > 0;
  }
}
