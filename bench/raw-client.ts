import type { Socket } from "bun";

/** What minimal clients received after the handshake. They send nothing, except for acknowledgements. */
export interface Counter {
  bytes: number;
  /** Occurrences of `mark`, of clients whose frames have no fixed length. */
  marks: number;
}

/** `raw`: a WebSocket whose frames are the data alone; `deflate`: the same, compressed; `v1`: of `slipway.v1`; `ack`: the same, and it acknowledges; `sse`: an event stream. */
export type ClientKind = "raw" | "deflate" | "v1" | "ack" | "sse";

/** A character of the data of a message that is nowhere else in its frame. */
export const mark = "~";

export type HandshakeResult = "open" | "refused";

const upgrade =
  "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
const handshakes: Record<ClientKind, { path: string; headers: string; status: string }> = {
  raw: { path: "/ws", headers: upgrade, status: "101" },
  deflate: {
    path: "/ws",
    headers: `${upgrade}Sec-WebSocket-Extensions: permessage-deflate\r\n`,
    status: "101",
  },
  v1: { path: "/ws", headers: `${upgrade}Sec-WebSocket-Protocol: slipway.v1\r\n`, status: "101" },
  ack: { path: "/ws", headers: `${upgrade}Sec-WebSocket-Protocol: slipway.v1\r\n`, status: "101" },
  sse: { path: "/sse", headers: "Accept: text/event-stream\r\n", status: "200" },
};
const asksAck = /"id":"([^"]+)"[^}]*"ack":true/g;
const headEnd = Buffer.from("\r\n\r\n");

/** Opens one connection; `onClose` is called only if it was open. */
export function openSocket(
  url: URL,
  code: string,
  counter: Counter,
  onClose: () => void,
  kind: ClientKind = "raw",
): Promise<{ result: HandshakeResult; socket: Socket<unknown> | undefined }> {
  return new Promise((resolve) => {
    let isOpen = false;
    const { path, headers, status } = handshakes[kind];
    const request = `GET ${path}?code=${code} HTTP/1.1\r\nHost: ${url.host}\r\n${headers}\r\n`;
    Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        open(socket) {
          socket.write(request);
        },
        data(socket, piece) {
          if (isOpen) {
            counter.bytes += piece.length;
            if (kind === "v1" || kind === "sse")
              counter.marks += piece.toString("latin1").split(mark).length - 1;
            if (kind === "ack")
              for (const [, id] of piece.toString("latin1").matchAll(asksAck))
                socket.write(clientFrame(JSON.stringify({ type: "ack", id })));
            return;
          }
          const end = piece.indexOf(headEnd);
          isOpen = end > 0 && piece.toString("latin1", 0, 12) === `HTTP/1.1 ${status}`;
          if (!isOpen) socket.terminate();
          else counter.bytes += piece.length - end - headEnd.length;
          resolve({ result: isOpen ? "open" : "refused", socket: isOpen ? socket : undefined });
        },
        close() {
          if (isOpen) onClose();
          resolve({ result: "refused", socket: undefined });
        },
        error() {
          resolve({ result: "refused", socket: undefined });
        },
      },
    }).catch(() => resolve({ result: "refused", socket: undefined }));
  });
}

/** A short text as a masked frame; its key is zero, so that the text stays as it is. */
function clientFrame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

/** One keep-alive HTTP connection with one request at a time. */
export class Poster {
  readonly #socket: Socket<unknown>;
  #waiting: ((status: number) => void) | undefined;
  #held = "";
  /** Of the last response. */
  body = "";

  private constructor(socket: Socket<unknown>) {
    this.#socket = socket;
  }

  static async connect(url: URL): Promise<Poster> {
    let poster: Poster | undefined;
    const socket = await Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        data: (_socket, piece) => poster?.take(piece.toString("latin1")),
        close: () => poster?.fail(),
        error: () => poster?.fail(),
      },
    });
    poster = new Poster(socket);
    return poster;
  }

  /** Resolves to the status of the response, 0 if the connection broke. */
  post(request: string): Promise<number> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.end();
  }

  private take(text: string): void {
    this.#held += text;
    const end = this.#held.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#held)?.[1] ?? 0);
    if (this.#held.length < end + 4 + length) return;
    const status = Number(this.#held.slice(9, 12));
    this.body = this.#held.slice(end + 4);
    this.#held = "";
    this.#waiting?.(status);
  }

  private fail(): void {
    this.#waiting?.(0);
  }
}

export function publishRequest(
  url: URL,
  body: { targetType: string; target?: string; data: string; ack?: boolean },
): string {
  return postRequest(url, "/feign/publish", JSON.stringify(body));
}

export function postRequest(url: URL, path: string, json: string, authorization?: string): string {
  const credential = authorization === undefined ? "" : `Authorization: ${authorization}\r\n`;
  return `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\n${credential}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}
