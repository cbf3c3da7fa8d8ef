/**
 * A load generator in a separate process: holds many connections from one local address and counts the received messages
 * of each user by id. It exchanges lines of JSON with its parent: `{"connect": …}` and `{"report": true}`.
 */
import { connect } from "node:net";

interface ConnectOrder {
  port: number;
  localAddress: string;
  first: number;
  count: number;
}

const received = new Map<number, string[]>();
let open = 0;
let closed = 0;

function holdOne(order: ConnectOrder, user: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port: order.port, host: "127.0.0.1", localAddress: order.localAddress });
    let buffer: Buffer = Buffer.alloc(0);
    let isOpen = false;
    received.set(user, []);
    socket.write(
      `GET /ws?code=user-${user} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    socket.on("data", (chunk) => {
      buffer = buffer.length === 0 ? (chunk as Buffer) : Buffer.concat([buffer, chunk as Buffer]);
      if (!isOpen) {
        const end = buffer.indexOf("\r\n\r\n");
        if (end < 0) return;
        isOpen = buffer.subarray(0, 12).toString() === "HTTP/1.1 101";
        buffer = buffer.subarray(end + 4);
        if (isOpen) open++;
        resolve(isOpen);
      }
      buffer = takeFrames(buffer, received.get(user) ?? []);
    });
    socket.on("error", () => resolve(false));
    socket.on("close", () => {
      if (isOpen) closed++;
      resolve(false);
    });
  });
}

/** Messages here are short: a frame is two bytes and its text. Pings are skipped. */
function takeFrames(buffer: Buffer, texts: string[]): Buffer {
  let at = 0;
  while (buffer.length >= at + 2) {
    const length = (buffer[at + 1] ?? 0) & 0x7f;
    if (buffer.length < at + 2 + length) break;
    if (((buffer[at] ?? 0) & 0x0f) === 1) texts.push(buffer.toString("latin1", at + 2, at + 2 + length));
    at += 2 + length;
  }
  return buffer.subarray(at);
}

async function hold(order: ConnectOrder): Promise<void> {
  let next = order.first;
  const end = order.first + order.count;
  const worker = async () => {
    while (next < end) await holdOne(order, next++);
  };
  await Promise.all(Array.from({ length: 40 }, worker));
}

process.on("message", async (order: { connect?: ConnectOrder; report?: boolean }) => {
  if (order.connect) await hold(order.connect);
  process.send?.({ open, closed, received: order.report ? [...received] : [] });
});
