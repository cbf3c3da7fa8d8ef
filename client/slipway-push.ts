/**
 * Client of the Slipway push gateway, without dependencies. It uses the subprotocol `slipway.v1`, in which messages have
 * positions and a reconnect can resume.
 */

import { closeRuleOf } from "./close-rule.ts";
import { eventStreamTransport } from "./event-stream-transport.ts";
import { fallbackTransport } from "./fallback-transport.ts";
import { KeptSession } from "./kept-session.ts";
import { Pauses } from "./pauses.ts";
import type { PushEvents, PushMessage, PushOptions, PushState, PushStatus } from "./push-events.ts";
import { type Release, releaseOf } from "./release.ts";
import type { Link, Transport } from "./transport.ts";
import { webSocketTransport } from "./websocket-transport.ts";

export type { SessionStore } from "./kept-session.ts";
export type * from "./push-events.ts";
export type { Release } from "./release.ts";
export type * from "./transport.ts";
export type { SocketClass, SocketLike } from "./websocket-transport.ts";
export { closeRuleOf };

/** HTTP servers limit the request line. Channels that do not fit into the query are joined after the welcome. */
const maxChannelQueryLength = 8000;
export class SlipwayPush {
  readonly #options: Required<Omit<PushOptions, keyof Injected>>;
  readonly #transport: Transport;
  readonly #session: KeptSession;
  readonly #pauses: Pauses;
  readonly #listeners = new Map<keyof PushEvents, Set<(event: never) => void>>();
  readonly #channels = new Set<string>();
  #status: PushStatus = { state: "closed", reason: "not opened yet", closeCode: null, retryAt: null };
  #link: Link | null = null;
  #attempt = 0; // Events of older attempts are ignored.
  #acceptsMessages = true;
  #position: string | null = null;
  #wasOpen = false;
  /** A heartbeat is sent after this long without a frame. */
  #quietMs: number;
  /** Timer of the handshake, of the pause or of the heartbeat, depending on the state. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #retryNow = () => {
    if (this.#status.state === "waiting") void this.#connect(); // The browser is back online.
  };

  constructor(options: PushOptions) {
    const { channels = [], resumeKey, sessionStore, webSocket, transport, ...rest } = options;
    this.#options = {
      temporary: false,
      minDelayMs: 1000,
      maxDelayMs: 30_000,
      connectTimeoutMs: 15_000,
      heartbeatIntervalMs: 25_000,
      heartbeatTimeoutMs: 10_000,
      heartbeatContent: "ping",
      upgradeRetryMs: 30_000,
      random: Math.random,
      ...rest,
    };
    this.#pauses = new Pauses(this.#options);
    this.#transport = transport ?? this.#ownTransport(webSocket);
    this.#quietMs = this.#options.heartbeatIntervalMs;
    this.#session = new KeptSession(resumeKey, sessionStore);
    const kept = this.#session.read();
    this.#position = kept?.position ?? null;
    this.#wasOpen = kept !== null;
    for (const channel of [...channels, ...(kept?.channels ?? [])]) this.#channels.add(channel);
  }

  get status(): PushStatus {
    return this.#status;
  }

  get channels(): string[] {
    return [...this.#channels];
  }

  /** Returns a function that removes the listener. */
  on<E extends keyof PushEvents>(event: E, listener: (event: PushEvents[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Connects, and reconnects until `close` or a close code that forbids it. */
  open(): void {
    if (this.#status.state !== "closed") return;
    this.#pauses.start();
    globalThis.addEventListener?.("online", this.#retryNow);
    void this.#connect();
  }

  /** Ends the connection and every further attempt. `open` may be called again. */
  close(): void {
    this.#end("closed by the application", 1000);
  }

  /** False: the connection is not open, or the gateway accepts no client messages. Messages are not queued. */
  send(data: string): boolean {
    return this.#acceptsMessages && this.#write({ type: "message", data });
  }

  /** The channel is joined again after each reconnect. A refusal is emitted as `problem`. */
  join(channel: string): void {
    if (!this.#channels.has(channel)) this.#write({ type: "join", channel });
    this.#channels.add(channel);
    this.#keep();
  }

  leave(channel: string): void {
    if (this.#channels.delete(channel)) this.#write({ type: "leave", channel });
    this.#keep();
  }

  /** Joins the channel, and calls the listener at each release that is published there. Returns a function that removes it. */
  onRelease(channel: string, listener: (release: Release) => void): () => void {
    this.join(channel);
    return this.on("message", (message) => {
      const release = releaseOf(message, channel);
      if (release) listener(release);
    });
  }

  /** Mini programs have no `fetch`. */
  #ownTransport(webSocket: PushOptions["webSocket"]): Transport {
    const first = webSocketTransport(webSocket);
    if (!globalThis.fetch) return first;
    return fallbackTransport(first, eventStreamTransport, this.#options.upgradeRetryMs);
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt;
    this.#setStatus("connecting", "connecting");
    const { connectTimeoutMs: ms } = this.#options;
    this.#restartTimer(ms, () => this.#lost(attempt, 1006, `no answer within ${ms} ms`));
    let code: string | null;
    try {
      code = await this.#options.code();
    } catch (error) {
      this.#lost(attempt, 1006, `no code: ${textOfError(error)}`);
      return;
    }
    if (attempt !== this.#attempt) return;
    if (code === null) this.#end("no code to connect with", null);
    else this.#startLink(attempt, code);
  }

  #startLink(attempt: number, code: string): void {
    const requested = this.#channelsThatFit();
    const request = {
      url: this.#options.url,
      query: this.#queryOf(code, requested),
      renew: async () => {
        const next = await this.#options.code();
        return next === null ? null : this.#queryOf(next);
      },
    };
    try {
      this.#link = this.#transport.connect(request, {
        frame: (text) => {
          if (attempt !== this.#attempt) return;
          this.#watchHeartbeat(attempt);
          this.#receive(text, requested);
        },
        closed: (closeCode, reason) => this.#lost(attempt, closeCode, reason),
      });
    } catch (error) {
      this.#lost(attempt, 1006, textOfError(error));
    }
  }

  #channelsThatFit(): Set<string> {
    let room = maxChannelQueryLength;
    const fits = (channel: string) => {
      room -= encodeURIComponent(channel).length + "&channel=".length;
      return room >= 0;
    };
    return new Set(this.channels.filter(fits));
  }

  /** Without channels it is the query of a connection that is only tried. */
  #queryOf(code: string, channels?: Set<string>): string {
    const pairs = [["code", code]];
    if (this.#options.temporary) pairs.push(["temp", "1"]);
    for (const channel of channels ?? []) pairs.push(["channel", channel]);
    if (channels && this.#position !== null) pairs.push(["resume", this.#position]);
    return pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  }

  #receive(text: string, requested: Set<string>): void {
    if (text === this.#options.heartbeatContent) return;
    const frame = parseFrame(text);
    if (frame.type === "welcome") this.#welcome(frame, requested);
    else if (frame.type === "message") this.#deliver(frame);
    else if (frame.type === "position") this.#keep(textOf(frame.lastId));
    else if (frame.type === "joined" || frame.type === "left") this.#emit(frame.type, textOf(frame.channel));
    else if (frame.type === "memberJoined" || frame.type === "memberLeft") this.#member(frame);
    else if (frame.type === "refresh") void this.#refresh(this.#attempt);
    else if (frame.type === "error") this.#refused(frame);
  }

  #welcome(frame: Frame, requested: Set<string>): void {
    const reconnected = this.#wasOpen;
    const unrequested = this.channels.filter((channel) => !requested.has(channel));
    this.#wasOpen = true;
    this.#pauses.opened();
    this.#acceptsMessages = frame.acceptsMessages !== false;
    // The heartbeats of an event stream are seen here; those of a WebSocket are not.
    const pingMs = frame.stream ? 1.5 * Number(frame.pingIntervalMs) : 0;
    this.#quietMs = Math.max(this.#options.heartbeatIntervalMs, pingMs);
    if (frame.recovered !== true && typeof frame.lastId === "string") this.#keep(frame.lastId);
    this.#setStatus("open", "connected");
    if (this.status.state !== "open") return; // A listener has closed it.
    // Channels that were joined or left during the handshake, or did not fit into its query. A listener may have left one.
    for (const channel of unrequested)
      if (this.#channels.has(channel)) this.#write({ type: "join", channel });
    for (const channel of requested)
      if (!this.#channels.has(channel)) this.#write({ type: "leave", channel });
    const recovered = !reconnected || (frame.recovered === true && unrequested.length === 0);
    const [connectionId, userId] = [textOf(frame.connectionId), textOf(frame.userId)];
    const transport = this.#link?.transport ?? "";
    this.#emit("open", { connectionId, userId, reconnected, recovered, transport });
  }

  /** The gateway needs a new code for this connection. Without one it ends, and the client connects again. */
  async #refresh(attempt: number): Promise<void> {
    try {
      const code = await this.#options.code();
      if (code !== null && attempt === this.#attempt) this.#write({ type: "refresh", code });
    } catch {
      // The next attempt reports it.
    }
  }

  #deliver(frame: Frame): void {
    const { id, targetType, target, data, ts } = frame as unknown as PushMessage;
    this.#keep(textOf(frame.position));
    const texts = { id: textOf(id), target: textOf(target), data: textOf(data) };
    this.#emit("message", { ...texts, targetType, ts: Number(ts) });
    if (frame.ack === true) this.#write({ type: "ack", id: texts.id });
  }

  #member({ type, channel, userId }: Frame): void {
    const change = type === "memberJoined" ? "joined" : "left";
    this.#emit("member", { type: change, channel: textOf(channel), userId: textOf(userId) });
  }

  #refused(frame: Frame): void {
    const channel = typeof frame.channel === "string" ? frame.channel : null;
    if (channel !== null) {
      this.#channels.delete(channel); // Otherwise each reconnect would request it again.
      this.#keep();
    }
    this.#emit("problem", { code: textOf(frame.code), message: textOf(frame.message), channel });
  }

  #lost(attempt: number, code: number, reason: string): void {
    if (attempt !== this.#attempt) return;
    this.#attempt++;
    this.#dropLink();
    const text = reason || `the connection ended (${code})`;
    const delayMs = this.#pauses.after(code);
    if (delayMs === null) {
      this.#end(text, code);
      return;
    }
    this.#restartTimer(delayMs, () => void this.#connect());
    this.#setStatus("waiting", text, { closeCode: code, retryAt: Date.now() + delayMs });
  }

  #end(reason: string, code: number | null): void {
    this.#attempt++;
    this.#dropLink();
    globalThis.removeEventListener?.("online", this.#retryNow);
    if (this.#status.state !== "closed")
      this.#setStatus("closed", reason, code === null ? {} : { closeCode: code });
  }

  #dropLink(): void {
    clearTimeout(this.#timer);
    this.#link?.close();
    this.#link = null;
  }

  /** Browsers hide WebSocket pings, so the client sends its own heartbeat when no frame has arrived for a while. */
  #watchHeartbeat(attempt: number): void {
    const { heartbeatTimeoutMs, heartbeatContent } = this.#options;
    this.#restartTimer(this.#quietMs, () => {
      this.#link?.send(heartbeatContent);
      this.#restartTimer(heartbeatTimeoutMs, () =>
        this.#lost(attempt, 4201, `nothing received for ${this.#quietMs + heartbeatTimeoutMs} ms`),
      );
    });
  }

  /** The place to resume from, for this page and for the next one of the tab. */
  #keep(position = this.#position): void {
    this.#position = position;
    if (position !== null) this.#session.write(position, this.#channels);
  }

  #write(frame: Record<string, string>): boolean {
    if (this.#link === null || this.#status.state !== "open") return false;
    this.#link.send(JSON.stringify(frame));
    return true;
  }

  #restartTimer(delayMs: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, delayMs);
  }

  #setStatus(state: PushState, reason: string, more: Partial<PushStatus> = {}): void {
    this.#status = { closeCode: this.#status.closeCode, retryAt: null, ...more, state, reason };
    this.#emit("status", this.#status);
  }

  #emit<E extends keyof PushEvents>(event: E, value: PushEvents[E]): void {
    // In a promise: a listener that throws is reported as an unhandled rejection and does not stop reconnects.
    for (const listener of this.#listeners.get(event) ?? [])
      void new Promise(() => (listener as (event: PushEvents[E]) => void)(value));
  }
}

type Injected = Pick<PushOptions, "channels" | "resumeKey" | "sessionStore" | "webSocket" | "transport">;

type Frame = Record<string, unknown>;

function parseFrame(text: string): Frame {
  try {
    return Object(JSON.parse(text)) as Frame;
  } catch {
    return {};
  }
}

const textOf = (value: unknown) => String(value ?? "");
const textOfError = (error: unknown) => (error instanceof Error ? error.message : String(error));
