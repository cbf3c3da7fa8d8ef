/**
 * Raw WebSocket clients in a separate process: they read as fast as they can and only count. Arguments: the port, the prefix
 * of their codes, their number, and the bytes that each is to receive. It says when all are connected, when all have received
 * exactly these bytes, and when one is closed.
 */
import { RawSocket } from "./raw-socket.ts";

export type ReadersEvent = "connected" | "complete" | "closed";

const [port, prefix, count, expected] = process.argv.slice(2);
const say = (event: ReadersEvent) => process.send?.(event);
const received = Array.from({ length: Number(count) }, () => 0);

for (const index of received.keys()) {
  const client = new RawSocket(Number(port));
  await client.upgrade(`/ws?code=${prefix}-${index}`);
  // Nothing of what it reads is kept.
  client.socket.removeAllListeners("data");
  client.socket.on("data", ({ length }) => {
    received[index] = (received[index] ?? 0) + length;
    if (received[index] === Number(expected) && received.every((bytes) => bytes === Number(expected)))
      say("complete");
  });
  client.socket.on("close", () => say("closed"));
}
say("connected");
