/**
 * Client of the Slipway push gateway for browsers, Bun and Node 22 or later, without dependencies. It uses the
 * subprotocol `slipway.v1`, in which messages have positions and a reconnect can resume.
 */

import type { PushEvents, PushMessage, PushOptions, PushState, PushStatus } from "./push-events.ts";

export type * from "./push-events.ts";

const protocol = "slipway.v1";
/** HTTP servers limit the request line. Channels that do not fit into the query are joined after the welcome. */
const maxChannelQueryLength = 8000;
/** After a connection of this length the pauses start with the shortest again. */
const stableMs = 10_000;
/** After this many refused codes in a row the client stops, because the next would be refused too. */
const maxRefusedCodes = 3;

/** 4001, 4005: reconnect with a new code · other 40xx: stop · 42xx and 1012: reconnect within a second · all others: back off. */
export function closeRuleOf(code: number): "newCode" | "stop" | "backOff" | "soon" {
  if (code === 4001 || code === 4005) return "newCode";
  if (code >= 4000 && code < 4100) return "stop";
  if (code === 1012 || (code >= 4200 && code < 4300)) return "soon";
  return "backOff";
}

export class SlipwayPush {
  readonly #options: Required<Omit<PushOptions, "channels">>;
  readonly #listeners = new Map<keyof PushEvents, Set<(event: never) => void>>();
  readonly #channels = new Set<string>();
  #status: PushStatus = { state: "closed", reason: "not opened yet", closeCode: null, retryAt: null };
  #socket: WebSocket | null = null;
  #attempt = 0; // Events of older attempts are ignored.
  #failures = 0;
  #refusedCodes = 0;
  #acceptsMessages = true;
  #position: string | null = null;
  #wasOpen = false;
  #openedAt = 0;
  /** Timer of the handshake, of the pause or of the heartbeat, depending on the state. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #retryNow = () => {
    if (this.#status.state === "waiting") void this.#connect(); // The browser is back online.
  };

  constructor(options: PushOptions) {
    const { channels = [], ...rest } = options;
    this.#options = {
      temporary: false,
      minDelayMs: 1000,
      maxDelayMs: 30_000,
      connectTimeoutMs: 15_000,
      heartbeatIntervalMs: 25_000,
      heartbeatTimeoutMs: 10_000,
      heartbeatContent: "ping",
      random: Math.random,
      webSocket: globalThis.WebSocket,
      ...rest,
    };
    for (const channel of channels) this.#channels.add(channel);
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
    this.#failures = 0;
    this.#refusedCodes = 0;
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
  }

  leave(channel: string): void {
    if (this.#channels.delete(channel)) this.#write({ type: "leave", channel });
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt;
    this.#setStatus("connecting", "connecting");
    const { connectTimeoutMs: ms } = this.#options;
    this.#restartTimer(ms, () => this.#lost(attempt, 1006, `no answer within ${ms} ms`));
    try {
      const code = await this.#options.code();
      if (attempt !== this.#attempt) return;
      if (code === null) this.#end("no code to connect with", null);
      else this.#openSocket(attempt, code);
    } catch (error) {
      this.#lost(attempt, 1006, `no code: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #openSocket(attempt: number, code: string): void {
    const requested = this.#channelsThatFit();
    const socket = new this.#options.webSocket(this.#urlOf(code, requested), [protocol]);
    this.#socket = socket;
    socket.onmessage = (event: MessageEvent) => {
      if (attempt !== this.#attempt) return;
      this.#watchHeartbeat(attempt);
      if (typeof event.data === "string") this.#receive(event.data, requested);
    };
    socket.onclose = (event: CloseEvent) => this.#lost(attempt, event.code, event.reason);
  }

  #channelsThatFit(): Set<string> {
    let room = maxChannelQueryLength;
    const fits = (channel: string) => {
      room -= encodeURIComponent(channel).length + "&channel=".length;
      return room >= 0;
    };
    return new Set(this.channels.filter(fits));
  }

  #urlOf(code: string, channels: Set<string>): string {
    const url = new URL(this.#options.url.replace(/^http/, "ws"));
    url.searchParams.set("code", code);
    if (this.#options.temporary) url.searchParams.set("temp", "1");
    for (const channel of channels) url.searchParams.append("channel", channel);
    if (this.#position !== null) url.searchParams.set("resume", this.#position);
    return url.href;
  }

  #receive(text: string, requested: Set<string>): void {
    if (text === this.#options.heartbeatContent) return;
    const frame = parseFrame(text);
    if (frame.type === "welcome") this.#welcome(frame, requested);
    else if (frame.type === "message") this.#deliver(frame);
    else if (frame.type === "position") this.#position = textOf(frame.lastId);
    else if (frame.type === "joined" || frame.type === "left") this.#emit(frame.type, textOf(frame.channel));
    else if (frame.type === "memberJoined" || frame.type === "memberLeft") this.#member(frame);
    else if (frame.type === "refresh") void this.#refresh(this.#attempt);
    else if (frame.type === "error") this.#refused(frame);
  }

  #welcome(frame: Frame, requested: Set<string>): void {
    const reconnected = this.#wasOpen;
    const unrequested = this.channels.filter((channel) => !requested.has(channel));
    this.#wasOpen = true;
    this.#refusedCodes = 0;
    this.#acceptsMessages = frame.acceptsMessages !== false;
    this.#openedAt = Date.now();
    if (frame.recovered !== true && typeof frame.lastId === "string") this.#position = frame.lastId;
    this.#setStatus("open", "connected");
    // Channels that were joined or left during the handshake, or did not fit into its query.
    for (const channel of unrequested) this.#write({ type: "join", channel });
    for (const channel of requested)
      if (!this.#channels.has(channel)) this.#write({ type: "leave", channel });
    const recovered = !reconnected || (frame.recovered === true && unrequested.length === 0);
    const [connectionId, userId] = [textOf(frame.connectionId), textOf(frame.userId)];
    this.#emit("open", { connectionId, userId, reconnected, recovered });
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
    this.#position = textOf(frame.position);
    const texts = { id: textOf(id), target: textOf(target), data: textOf(data) };
    this.#emit("message", { ...texts, targetType, ts: Number(ts) });
  }

  #member({ type, channel, userId }: Frame): void {
    const change = type === "memberJoined" ? "joined" : "left";
    this.#emit("member", { type: change, channel: textOf(channel), userId: textOf(userId) });
  }

  #refused(frame: Frame): void {
    const channel = typeof frame.channel === "string" ? frame.channel : null;
    if (channel !== null) this.#channels.delete(channel); // Otherwise each reconnect would request it again.
    this.#emit("problem", { code: textOf(frame.code), message: textOf(frame.message), channel });
  }

  #lost(attempt: number, code: number, reason: string): void {
    if (attempt !== this.#attempt) return;
    this.#attempt++;
    this.#dropSocket();
    const rule = closeRuleOf(code);
    const text = reason || `the connection ended (${code})`;
    const isLastCode = rule === "newCode" && ++this.#refusedCodes >= maxRefusedCodes;
    if (rule === "stop" || isLastCode) this.#end(text, code);
    else this.#waitAfter(rule, text, code);
  }

  #waitAfter(rule: ReturnType<typeof closeRuleOf>, reason: string, closeCode: number): void {
    if (this.#openedAt > 0 && Date.now() - this.#openedAt >= stableMs) this.#failures = 0;
    this.#openedAt = 0;
    const { minDelayMs, maxDelayMs, random } = this.#options;
    const pauseMs = Math.min(maxDelayMs, minDelayMs * 2 ** Math.min(this.#failures, 30));
    // A random moment within the second, so that the clients of a drained server do not all reconnect at once.
    const delayMs = rule === "soon" ? 1000 * random() : pauseMs * (0.5 + random() / 2);
    if (rule !== "soon" && ++this.#failures === 2 && closeCode < 4000) void this.#stopIfOriginRefused();
    this.#restartTimer(delayMs, () => void this.#connect());
    this.#setStatus("waiting", reason, { closeCode, retryAt: Date.now() + delayMs });
  }

  /** Browsers hide why a handshake fails, so the gateway is asked. By POST: a GET may have no Origin header. */
  async #stopIfOriginRefused(): Promise<void> {
    const url = this.#options.url.replace(/^ws/, "http");
    const answer = await fetch(url, { method: "POST", credentials: "omit" }).catch(() => null);
    if (answer?.headers.get("x-push-refusal") !== "40301" || this.#status.state === "open") return;
    this.#end("the gateway refuses pages of this origin (push.allowed-origins)", 4002);
  }

  #end(reason: string, code: number | null): void {
    this.#attempt++;
    this.#dropSocket();
    globalThis.removeEventListener?.("online", this.#retryNow);
    if (this.#status.state !== "closed")
      this.#setStatus("closed", reason, code === null ? {} : { closeCode: code });
  }

  #dropSocket(): void {
    clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  /** Browsers hide WebSocket pings, so the client sends its own heartbeat when no frame has arrived for a while. */
  #watchHeartbeat(attempt: number): void {
    const { heartbeatIntervalMs, heartbeatTimeoutMs, heartbeatContent } = this.#options;
    this.#restartTimer(heartbeatIntervalMs, () => {
      this.#socket?.send(heartbeatContent);
      this.#restartTimer(heartbeatTimeoutMs, () =>
        this.#lost(attempt, 4201, `nothing received for ${heartbeatIntervalMs + heartbeatTimeoutMs} ms`),
      );
    });
  }

  #write(frame: Record<string, string>): boolean {
    if (this.#socket === null || this.#status.state !== "open") return false;
    this.#socket.send(JSON.stringify(frame));
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

type Frame = Record<string, unknown>;

function parseFrame(text: string): Frame {
  try {
    return Object(JSON.parse(text)) as Frame;
  } catch {
    return {};
  }
}

const textOf = (value: unknown) => String(value ?? "");
