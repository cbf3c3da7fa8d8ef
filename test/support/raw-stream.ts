import { type Frame, type HttpAnswer, RawSocket } from "./raw-socket.ts";

/** A TCP socket that reads an event stream, in the place of one that reads WebSocket frames. */
export class RawStream extends RawSocket {
  readonly #frames: Frame[] = [];
  /** How far the chunks of the body are read, and the bytes of the event that is not complete yet. */
  #chunksEnd = 0;
  #rest: Buffer = Buffer.alloc(0);

  override async upgrade(path: string): Promise<HttpAnswer> {
    this.request("GET", path.replace(/^\/ws/, "/sse"), { Accept: "text/event-stream" });
    const answer = await this.answer();
    if (answer.status !== 200) throw new Error(`refused with ${answer.status}: ${answer.body}`);
    return answer;
  }

  /** The data of events as text frames, and `closed` as a close frame. */
  override frames(): Frame[] {
    const events = Buffer.concat([this.#rest, ...this.#newChunks()]);
    let start = 0;
    for (let end = events.indexOf("\n\n"); end >= 0; end = events.indexOf("\n\n", start)) {
      this.#add(events.subarray(start, end));
      start = end + 2;
    }
    this.#rest = events.subarray(start);
    return [...this.#frames];
  }

  #add(event: Buffer): void {
    const at = event.indexOf("data: ");
    if (at < 0) return;
    const payload = event.subarray(at + "data: ".length);
    if (!event.subarray(0, at).includes("event: closed")) this.#frames.push({ opcode: 1, payload });
    else {
      const code = Buffer.alloc(2);
      code.writeUInt16BE((JSON.parse(payload.toString()) as { code: number }).code);
      this.#frames.push({ opcode: 8, payload: code });
    }
  }

  *#newChunks(): Generator<Buffer> {
    const { received } = this;
    for (;;) {
      const head = received.indexOf("\r\n", this.#chunksEnd);
      if (head < 0) return;
      const length = Number.parseInt(received.subarray(this.#chunksEnd, head).toString(), 16);
      const end = head + 2 + length;
      if (length === 0 || received.length < end + 2) return;
      yield received.subarray(head + 2, end);
      this.#chunksEnd = end + 2;
    }
  }
}
