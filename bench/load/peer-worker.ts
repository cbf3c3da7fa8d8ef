/** Load generator of the comparison with other servers: many subscribers of one channel, and its publishers. */
import type { Socket } from "bun";
import { messageMark, type PeerDialect, type PeerOrder, type PeerResult } from "../peer-load.ts";

const mark = messageMark.charCodeAt(0);
const arrivalDeadlineMs = 60_000;
const held: Socket<unknown>[] = [];
let arrived = 0;

function countMarks(piece: Buffer): void {
  for (let at = piece.indexOf(mark); at >= 0; at = piece.indexOf(mark, at + 1)) arrived++;
}

/** A masked frame, as clients must send. The mask is zero, so the text stays readable. */
function frameOf({ text, isBinary }: NonNullable<PeerDialect["hello"]>): Buffer {
  const body = Buffer.from(text);
  const first = isBinary ? 0x82 : 0x81;
  const head =
    body.length < 126
      ? [first, 0x80 | body.length, 0, 0, 0, 0]
      : [first, 0x80 | 126, body.length >> 8, body.length & 255, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(head), body]);
}

function subscribe(dialect: PeerDialect, number: number): Promise<Socket<unknown>> {
  const { address, path, protocol, hello, welcome } = dialect;
  const [hostname = "", port] = address.split(":");
  const offered = protocol === undefined ? "" : `Sec-WebSocket-Protocol: ${protocol}\r\n`;
  const request = `GET ${path.replace("{n}", String(number))} HTTP/1.1\r\nHost: ${address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${offered}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;
  return new Promise((resolve, reject) => {
    let state: "upgrading" | "greeting" | "open" = "upgrading";
    let text = "";
    const advance = (socket: Socket<unknown>) => {
      if (state === "upgrading") {
        const end = text.indexOf("\r\n\r\n");
        if (end < 0) return;
        if (!text.startsWith("HTTP/1.1 101")) return reject(new Error(`refused: ${text.slice(0, 200)}`));
        text = text.slice(end + 4);
        state = "greeting";
        if (hello !== null)
          socket.write(frameOf({ ...hello, text: hello.text.replace("{n}", String(number)) }));
      }
      if (welcome !== null && !text.includes(welcome)) return;
      state = "open";
      text = "";
      resolve(socket);
    };
    Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => void socket.write(request),
        data(socket, piece) {
          if (state === "open") return countMarks(piece);
          text += piece.toString("latin1");
          advance(socket);
        },
        close: () => reject(new Error("closed")),
        error: (_socket, error) => reject(error),
      },
    }).catch(reject);
  });
}

interface Publisher {
  publish(): Promise<void>;
  close(): void;
}

async function connectPublisher({ publish }: PeerDialect): Promise<Publisher> {
  const [hostname = "", port] = publish.address.split(":");
  let held = "";
  let answered = () => {};
  const isAnswered = publish.kind === "http" ? hasResponse : (text: string) => text.includes("PONG\r\n");
  const message =
    publish.kind === "http"
      ? `POST ${publish.path} HTTP/1.1\r\nHost: ${publish.address}\r\nContent-Type: ${publish.contentType}\r\nContent-Length: ${Buffer.byteLength(publish.body)}\r\n\r\n${publish.body}`
      : `PUB bench ${Buffer.byteLength(publish.body)}\r\n${publish.body}\r\nPING\r\n`;
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_socket, piece) {
        held += piece.toString("latin1");
        if (!isAnswered(held)) return;
        held = "";
        answered();
      },
    },
  });
  const send = (text: string) =>
    new Promise<void>((resolve) => {
      answered = resolve;
      socket.write(text);
    });
  if (publish.kind === "nats") await send('CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n');
  return { publish: () => send(message), close: () => socket.end() };
}

function hasResponse(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  if (!/^HTTP\/1\.1 2/.test(text)) throw new Error(`a publish was refused: ${text.slice(0, 200)}`);
  if (/transfer-encoding: chunked/i.test(text)) return text.endsWith("0\r\n\r\n");
  return text.length >= end + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
}

async function untilArrived(expected: number): Promise<void> {
  const deadline = performance.now() + arrivalDeadlineMs;
  while (arrived < expected) {
    if (performance.now() > deadline) throw new Error(`${expected - arrived} messages did not arrive`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function withPublishers<T>(
  dialect: PeerDialect,
  count: number,
  use: (publishers: Publisher[]) => Promise<T>,
): Promise<T> {
  const publishers = await Promise.all(Array.from({ length: count }, () => connectPublisher(dialect)));
  try {
    return await use(publishers);
  } finally {
    for (const publisher of publishers) publisher.close();
  }
}

async function follow(order: PeerOrder): Promise<PeerResult> {
  const startedAt = performance.now();
  const result = (count: number, latenciesMs: number[] = []): PeerResult => ({
    count,
    seconds: (performance.now() - startedAt) / 1000,
    latenciesMs,
  });
  switch (order.type) {
    case "hold": {
      let next = 0;
      const run = async () => {
        while (next < order.count) held.push(await subscribe(order.dialect, next++));
      };
      await Promise.all(Array.from({ length: order.atOnce }, run));
      return result(order.count);
    }
    case "release": {
      const count = held.length;
      for (const socket of held.splice(0)) socket.terminate();
      return result(count);
    }
    case "bursts":
      return withPublishers(order.dialect, order.burst, async (publishers) => {
        const latencies: number[] = [];
        let expected = arrived;
        for (let sent = 0; sent < order.bursts; sent++) {
          expected += order.burst * held.length;
          const at = performance.now();
          await Promise.all(publishers.map((publisher) => publisher.publish()));
          await untilArrived(expected);
          latencies.push(performance.now() - at);
        }
        return result(order.bursts * order.burst * held.length, latencies);
      });
    case "flood":
      return withPublishers(order.dialect, order.publishers, async (publishers) => {
        const expected = arrived + order.messages * held.length;
        let sent = 0;
        const run = async (publisher: Publisher) => {
          while (sent < order.messages) {
            sent++;
            await publisher.publish();
          }
        };
        await Promise.all(publishers.map(run));
        await untilArrived(expected);
        return result(order.messages * held.length);
      });
  }
}

process.on("message", async (order: PeerOrder) => {
  try {
    process.send?.(await follow(order));
  } catch (error) {
    process.send?.({ count: 0, seconds: 0, latenciesMs: [], error: String(error) });
  }
});
process.on("disconnect", () => process.exit(0));
