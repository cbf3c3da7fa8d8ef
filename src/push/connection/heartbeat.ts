import { closeCodes, type Socket } from "./connection.ts";
import { TimerWheel } from "./timer-wheel.ts";

export interface HeartbeatOptions {
  pingIntervalMs: number;
  pongTimeoutMs: number;
  heartbeatContent: string;
  tickMs: number;
  random: () => number;
}

const maxTickMs = 250;
const minTickMs = 10;

/** Fine enough for the shortest of the times, never busier than it needs to be. */
export function tickMsOf(pingIntervalMs: number): number {
  return Math.min(maxTickMs, Math.max(minTickMs, Math.floor(pingIntervalMs / 10)));
}

/**
 * Pings every connection, closes those that stay silent, and ends temporary ones. The runtime's own idle timer is of no
 * use: it starts anew whenever the server sends, so that a dead client that is sent to would live for ever.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #wheel: TimerWheel<Socket>;
  readonly #visit = (socket: Socket, nowMs: number) => this.#look(socket, nowMs);

  constructor(options: HeartbeatOptions, nowMs: number) {
    this.#options = options;
    this.#wheel = new TimerWheel({ tickMs: options.tickMs, reachMs: options.pingIntervalMs, nowMs });
  }

  /** The first ping comes at a random moment, so that those who came together are not pinged together for ever. */
  watch(socket: Socket, nowMs: number): void {
    const { data } = socket;
    data.openedAtMs = nowMs;
    data.lastSeenAtMs = nowMs;
    data.nextPingAtMs = nowMs + this.#options.pingIntervalMs * (0.5 + this.#options.random() / 2);
    this.#wheel.schedule(socket, this.#nextLook(socket));
  }

  tick(nowMs: number): void {
    this.#wheel.advance(nowMs, this.#visit);
  }

  #look(socket: Socket, nowMs: number): number {
    const { data } = socket;
    if (socket.readyState !== WebSocket.OPEN) return 0;
    if (data.endsAtMs > 0 && nowMs >= data.endsAtMs) {
      socket.close(closeCodes.lifetimeReached, "lifetime reached");
      return 0;
    }
    // A paused socket is silent because we do not read it.
    if (socket.isPaused) data.lastSeenAtMs = nowMs;
    if (nowMs - data.lastSeenAtMs >= this.#options.pongTimeoutMs) {
      socket.close(closeCodes.pongTimeout, "pong timeout");
      return 0;
    }
    if (nowMs >= data.nextPingAtMs) {
      socket.ping(this.#options.heartbeatContent);
      data.nextPingAtMs = nowMs + this.#options.pingIntervalMs;
    }
    return this.#nextLook(socket);
  }

  #nextLook({ data }: Socket): number {
    const next = Math.min(data.nextPingAtMs, data.lastSeenAtMs + this.#options.pongTimeoutMs);
    return data.endsAtMs > 0 ? Math.min(next, data.endsAtMs) : next;
  }
}
