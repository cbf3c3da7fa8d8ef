import { connect, type Socket } from "node:net";
import { eventually } from "./eventually.ts";

export interface HttpAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

export interface Frame {
  opcode: number;
  payload: Buffer;
}

/** Valid handshake headers. */
export const upgradeHeaders: Record<string, string> = {
  Upgrade: "websocket",
  Connection: "Upgrade",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version": "13",
};

/** A TCP socket for hand-written HTTP and WebSocket bytes, valid or not. */
export class RawSocket {
  readonly socket: Socket;
  #joined: Buffer = Buffer.alloc(0);
  /** Chunks that are not joined yet: joined one by one, ten megabytes would be copied a hundred times. */
  #chunks: Buffer[] = [];
  #frames: Frame[] = [];
  #framesEnd = 0;
  isClosed = false;

  constructor(port: number, host = "127.0.0.1") {
    this.socket = connect(port, host);
    this.socket.on("data", (chunk) => {
      this.#chunks.push(chunk as Buffer);
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.isClosed = true;
    });
  }

  protected get received(): Buffer {
    if (this.#chunks.length > 0) this.#joined = Buffer.concat([this.#joined, ...this.#chunks.splice(0)]);
    return this.#joined;
  }

  write(data: string | Uint8Array): void {
    this.socket.write(data);
  }

  request(method: string, path: string, headers: Record<string, string>, body = ""): void {
    const lines = Object.entries({ Host: "127.0.0.1", ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    this.write(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  }

  /** Whether the head of a response has arrived. */
  get hasAnswer(): boolean {
    return this.received.includes("\r\n\r\n");
  }

  /** The head and the body of the next response. */
  async answer(): Promise<HttpAnswer> {
    await eventually(
      "the head of an answer arrives",
      () => this.received.includes("\r\n\r\n") || this.isClosed,
    );
    const end = this.received.indexOf("\r\n\r\n");
    const [first = "", ...lines] = this.received.subarray(0, end).toString().split("\r\n");
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = Number(headers.get("content-length") ?? 0);
    const bodyStart = end + 4;
    await eventually("the body arrives", () => this.received.length >= bodyStart + length);
    const body = this.received.subarray(bodyStart, bodyStart + length).toString();
    this.#joined = this.received.subarray(bodyStart + length);
    this.#frames = [];
    this.#framesEnd = 0;
    return { status: Number(first.split(" ")[1]), headers, body };
  }

  /** Opens a WebSocket; throws when it is refused. */
  async upgrade(path: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
    this.request("GET", path, { ...upgradeHeaders, ...headers });
    const answer = await this.answer();
    if (answer.status !== 101) throw new Error(`refused with ${answer.status}: ${answer.body}`);
    return answer;
  }

  /** Complete frames received so far. */
  frames(): Frame[] {
    for (;;) {
      const next = frameAt(this.received, this.#framesEnd);
      if (!next) return [...this.#frames];
      this.#frames.push(next.frame);
      this.#framesEnd = next.end;
    }
  }

  async closeCode(deadlineMs?: number): Promise<number> {
    const find = () => this.frames().find((frame) => frame.opcode === 8);
    await eventually("a close frame arrives", () => find() !== undefined, deadlineMs);
    return find()?.payload.readUInt16BE(0) ?? 0;
  }

  async ended(deadlineMs?: number): Promise<void> {
    await eventually("the socket closes", () => this.isClosed, deadlineMs);
  }

  sendText(text: string): void {
    this.write(maskedFrame(1, Buffer.from(text)));
  }

  /** Stops reading after this many bytes. */
  readSteadily(bytesPerSecond: number): void {
    this.socket.on("data", (chunk) => {
      this.socket.pause();
      setTimeout(() => this.socket.resume(), (chunk.length / bytesPerSecond) * 1000);
    });
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.destroy();
  }
}

function frameAt(data: Buffer, at: number): { frame: Frame; end: number } | null {
  if (data.length < at + 2) return null;
  const opcode = (data[at] ?? 0) & 0x0f;
  let length = (data[at + 1] ?? 0) & 0x7f;
  let start = at + 2;
  if (length === 126) {
    if (data.length < start + 2) return null;
    length = data.readUInt16BE(start);
    start += 2;
  } else if (length === 127) {
    if (data.length < start + 8) return null;
    length = Number(data.readBigUInt64BE(start));
    start += 8;
  }
  if (data.length < start + length) return null;
  return { frame: { opcode, payload: data.subarray(start, start + length) }, end: start + length };
}

/** A client's frame, masked with zeros so that the payload stays readable. */
export function maskedFrame(opcode: number, payload: Buffer): Buffer {
  const head =
    payload.length < 126
      ? Buffer.from([0x80 | opcode, 0x80 | payload.length])
      : payload.length < 65_536
        ? Buffer.from([0x80 | opcode, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
        : Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | 127]), lengthOf(payload)]);
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

function lengthOf(payload: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(payload.length));
  return length;
}
