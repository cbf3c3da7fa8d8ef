import { closeCodes, type Socket } from "./connection.ts";
import { TimerWheel } from "./timer-wheel.ts";

export interface HeartbeatOptions {
  pingIntervalMs: number;
  pongTimeoutMs: number;
  heartbeatContent: string;
  tickMs: number;
  random: () => number;
  /** Asks a `slipway.v1` client for a new code. */
  askRefresh: (socket: Socket) => void;
}

const maxTickMs = 250;
const minTickMs = 10;
/** The part of the pong timeout from which a late tick counts as a pause. Shorter ones are what the timeout is for. */
const longPause = 0.25;

/** A tenth of the ping interval, within bounds that keep the timer cheap. */
export function tickMsOf(pingIntervalMs: number): number {
  return Math.min(maxTickMs, Math.max(minTickMs, Math.floor(pingIntervalMs / 10)));
}

/**
 * Pings every connection, closes silent ones, and ends temporary ones and those whose code has expired. The runtime's idle timer cannot do this: sending
 * restarts it, so a dead client that still receives messages would never time out.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #wheel: TimerWheel<Socket>;
  #tickedAtMs: number;
  /** Before this time no connection is closed for its silence. */
  #judgesFromMs = 0;
  readonly #visit = (socket: Socket, nowMs: number) => this.#check(socket, nowMs);

  constructor(options: HeartbeatOptions, nowMs: number) {
    this.#options = options;
    this.#tickedAtMs = nowMs;
    this.#wheel = new TimerWheel({ tickMs: options.tickMs, reachMs: options.pingIntervalMs, nowMs });
  }

  /** The first ping comes at a random moment: clients that connected together are not pinged together. */
  watch(socket: Socket, nowMs: number): void {
    const { data } = socket;
    data.openedAtMs = nowMs;
    data.lastSeenAtMs = nowMs;
    data.nextPingAtMs = nowMs + this.#options.pingIntervalMs * (0.5 + this.#options.random() / 2);
    this.#wheel.schedule(socket, this.#nextCheckAtMs(socket));
  }

  tick(nowMs: number): void {
    const { tickMs, pongTimeoutMs } = this.#options;
    const lateMs = nowMs - this.#tickedAtMs - tickMs;
    this.#tickedAtMs = nowMs;
    // This process was suspended or busy, and read no pongs meanwhile: the clients get the lost time back.
    if (lateMs > pongTimeoutMs * longPause) this.#judgesFromMs = nowMs + Math.min(lateMs, pongTimeoutMs);
    this.#wheel.advance(nowMs, this.#visit);
  }

  #check(socket: Socket, nowMs: number): number {
    const { data } = socket;
    if (socket.readyState !== WebSocket.OPEN) return 0;
    if (data.endsAtMs > 0 && nowMs >= data.endsAtMs) {
      socket.close(closeCodes.lifetimeReached, "lifetime reached");
      return 0;
    }
    if (data.expiresAtMs > 0 && nowMs >= data.expiresAtMs) {
      socket.close(closeCodes.codeExpired, "code expired");
      return 0;
    }
    if (data.refreshAtMs > 0 && nowMs >= data.refreshAtMs) {
      data.refreshAtMs = 0;
      if (data.isV1) this.#options.askRefresh(socket);
    }
    // We do not read a paused socket, so its silence does not count. An event stream is silent unless it reads too slowly.
    const isReading = data.stream !== null && socket.getBufferedAmount() === 0;
    if (socket.isPaused || isReading) data.lastSeenAtMs = nowMs;
    const isJudged = nowMs >= this.#judgesFromMs;
    if (isJudged && nowMs - data.lastSeenAtMs >= this.#options.pongTimeoutMs) {
      socket.close(closeCodes.pongTimeout, "pong timeout");
      return 0;
    }
    if (nowMs >= data.nextPingAtMs) {
      socket.ping(this.#options.heartbeatContent);
      data.nextPingAtMs = nowMs + this.#options.pingIntervalMs;
    }
    return this.#nextCheckAtMs(socket);
  }

  #nextCheckAtMs({ data }: Socket): number {
    const silentAtMs = Math.max(data.lastSeenAtMs + this.#options.pongTimeoutMs, this.#judgesFromMs);
    const times = [data.endsAtMs, data.expiresAtMs, data.refreshAtMs].filter((atMs) => atMs > 0);
    return Math.min(data.nextPingAtMs, silentAtMs, ...times);
  }
}
