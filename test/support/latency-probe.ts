import type { Socket } from "bun";
import { maskedFrame } from "./raw-socket.ts";

/**
 * A well-behaved client: connected as `user`, it publishes to itself and measures the time until the message arrives.
 * It uses bare sockets, so that the time is the server's and not that of a client library.
 */
export class LatencyProbe {
  readonly #port: number;
  readonly #frames: Socket<undefined>;
  readonly #request: string;
  readonly #arrivals: Arrivals;

  private constructor(port: number, frames: Socket<undefined>, request: string, arrivals: Arrivals) {
    this.#port = port;
    this.#frames = frames;
    this.#request = request;
    this.#arrivals = arrivals;
  }

  static async open(port: number, user: string): Promise<LatencyProbe> {
    const isOpen = Promise.withResolvers<void>();
    const arrivals: Arrivals = { next: isOpen.resolve };
    const frames = await connect(port, (bytes) => {
      if (!isPing(bytes)) arrivals.next();
    });
    frames.write(
      `GET /ws?code=${user} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await isOpen.promise;
    const body = JSON.stringify({ targetType: "user", target: user, data: "x" });
    const request = `POST /feign/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    return new LatencyProbe(port, frames, request, arrivals);
  }

  /** Milliseconds from publish to arrival, one message after the other. */
  async measure(forMs: number): Promise<number[]> {
    const took: number[] = [];
    // A new connection each time: servers close idle ones.
    const requests = await connect(this.#port, () => {});
    this.#frames.write(lifeSign);
    const untilMs = performance.now() + forMs;
    while (performance.now() < untilMs) {
      const arrived = Promise.withResolvers<void>();
      this.#arrivals.next = arrived.resolve;
      const startedAtMs = performance.now();
      requests.write(this.#request);
      await arrived.promise;
      took.push(performance.now() - startedAtMs);
      // The rate of the probe.
      await Bun.sleep(1);
    }
    requests.end();
    return took;
  }

  close(): void {
    this.#frames.end();
  }
}

function connect(port: number, onData: (bytes: Buffer) => void): Promise<Socket<undefined>> {
  return Bun.connect<undefined>({
    hostname: "127.0.0.1",
    port,
    socket: { data: (_socket, bytes) => onData(bytes) },
  });
}

interface Arrivals {
  next: () => void;
}

/** Pings are not answered one by one; an occasional pong keeps the connection open. */
const lifeSign = maskedFrame(10, Buffer.alloc(0));

/** A ping alone, without a message after it. */
function isPing(bytes: Buffer): boolean {
  return bytes[0] === 0x89 && bytes.length === 2 + (bytes[1] ?? 0);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length * percent) / 100)] ?? 0;
}
