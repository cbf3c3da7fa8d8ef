/**
 * Client of the Slipway push gateway for browsers, Bun and Node (20 and later, with a global WebSocket). One file, no
 * dependencies. It speaks the subprotocol `slipway.v1`, so that messages have ids and a reconnect can resume.
 */

/** connecting: a handshake is under way · waiting: the next attempt is scheduled · closed: no further attempt by itself. */
export type PushState = "connecting" | "open" | "waiting" | "closed";

export interface PushMessage {
  id: string;
  targetType: "all" | "user" | "temp_user" | "channel";
  target: string;
  data: string;
  /** When it was published, in milliseconds since the epoch. */
  ts: number;
}

export interface PushStatus {
  state: PushState;
  /** For people: why it waits or closed. */
  reason: string;
  /** Close code of the last connection; null before the first close. */
  closeCode: number | null;
  /** When the next attempt starts, in milliseconds since the epoch; only while waiting. */
  retryAt: number | null;
}

export interface PushOpened {
  connectionId: string;
  userId: string;
  /** False on the first connection, true on each later one. */
  reconnected: boolean;
  /** True only when nothing can have been missed since the connection before. When false: fetch your data again. */
  recovered: boolean;
}

export interface PushProblem {
  code: string;
  message: string;
  channel: string | null;
}

export interface PushEvents {
  status: PushStatus;
  open: PushOpened;
  message: PushMessage;
  joined: string;
  left: string;
  problem: PushProblem;
}

export interface PushOptions {
  /** `wss://host/ws`; `https://…` is read as `wss://…`. */
  url: string;
  /** Called for each attempt: codes are single-use. Null ends the attempts (nobody is signed in). */
  code: () => Promise<string | null> | string | null;
  temporary?: boolean;
  channels?: string[];
  /** First and longest pause between attempts, each jittered between a half and the whole of it. */
  minDelayMs?: number;
  maxDelayMs?: number;
  connectTimeoutMs?: number;
  /** After this much silence a heartbeat text is sent; without any answer for heartbeatTimeoutMs the connection is given up. */
  heartbeatIntervalMs?: number;
  heartbeatTimeoutMs?: number;
  heartbeatContent?: string;
  random?: () => number;
  webSocket?: new (url: string, protocols: string[]) => WebSocket;
}

const protocol = "slipway.v1";
/** The overlap of a resume is small; older ids than this many are forgotten. */
const rememberedIds = 2000;
/** Longest query of joined channels; HTTP servers cut longer request lines. The rest is joined after the welcome. */
const maxChannelQueryLength = 8000;
/** A connection that lasted this long proves that the server is well: pauses start small again. */
const steadyMs = 10_000;

/** Refused codes in a row after which the client stops: a further code would be refused too. */
const maxRefusedCodes = 3;

/** 4001: reconnect with a new code · other 40xx: do not reconnect unchanged · 42xx and 1012: within a second · all else: back off. */
export function closeRuleOf(code: number): "newCode" | "stop" | "backOff" | "soon" {
  if (code === 4001) return "newCode";
  if (code >= 4000 && code < 4100) return "stop";
  if (code === 1012 || (code >= 4200 && code < 4300)) return "soon";
  return "backOff";
}

export class SlipwayPush {
  readonly #options: Required<Omit<PushOptions, "channels">>;
  readonly #listeners = new Map<keyof PushEvents, Set<(event: never) => void>>();
  readonly #channels = new Set<string>();
  readonly #seenIds = new Set<string>();
  #status: PushStatus = { state: "closed", reason: "not opened yet", closeCode: null, retryAt: null };
  #socket: WebSocket | null = null;
  /** Counts attempts, so that what an older attempt still reports is ignored. */
  #attempt = 0;
  #failures = 0;
  #refusedCodes = 0;
  #acceptsMessages = true;
  #lastId: string | null = null;
  #wasOpen = false;
  #openedAt = 0;
  /** The one timer: of the handshake, of the pause, or of the heartbeat, by state. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** A browser that comes back online need not sit out the pause. */
  readonly #retryNow = () => {
    if (this.#status.state === "waiting") void this.#connect();
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

  /** Answers the function that removes the listener. */
  on<E extends keyof PushEvents>(event: E, listener: (event: PushEvents[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Starts to connect, and stays connected until `close` or a close code that forbids it. */
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

  /** False when the connection is not open, or the gateway accepts no client messages: nothing is queued here. */
  send(data: string): boolean {
    return this.#acceptsMessages && this.#write({ type: "message", data });
  }

  /** Remembered and restored after each reconnect; a refusal comes as `problem`. */
  join(channel: string): void {
    if (!this.#channels.has(channel)) this.#write({ type: "join", channel });
    this.#channels.add(channel);
  }

  leave(channel: string): void {
    if (this.#channels.delete(channel)) this.#write({ type: "leave", channel });
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt;
    this.#become("connecting", "connecting");
    const { connectTimeoutMs: ms } = this.#options;
    this.#restartTimer(ms, () => this.#lost(attempt, 1006, `no answer within ${ms} ms`));
    try {
      const code = await this.#options.code();
      if (attempt !== this.#attempt) return;
      if (code === null) this.#end("no code to connect with", null);
      else this.#dial(attempt, code);
    } catch (error) {
      this.#lost(attempt, 1006, `no code: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #dial(attempt: number, code: string): void {
    const asked = this.#channelsThatFit();
    const socket = new this.#options.webSocket(this.#address(code, asked), [protocol]);
    this.#socket = socket;
    socket.onmessage = (event: MessageEvent) => {
      if (attempt !== this.#attempt) return;
      this.#watchHeartbeat(attempt);
      if (typeof event.data === "string") this.#receive(event.data, asked);
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

  #address(code: string, channels: Set<string>): string {
    const url = new URL(this.#options.url.replace(/^http/, "ws"));
    url.searchParams.set("code", code);
    if (this.#options.temporary) url.searchParams.set("temp", "1");
    for (const channel of channels) url.searchParams.append("channel", channel);
    if (this.#lastId !== null) url.searchParams.set("resume", this.#lastId);
    return url.href;
  }

  #receive(text: string, asked: Set<string>): void {
    if (text === this.#options.heartbeatContent) return;
    const frame = parseFrame(text);
    if (frame.type === "welcome") this.#welcome(frame, asked);
    else if (frame.type === "message") this.#deliver(frame);
    else if (frame.type === "position") this.#lastId = textOf(frame.lastId);
    else if (frame.type === "joined" || frame.type === "left") this.#emit(frame.type, textOf(frame.channel));
    else if (frame.type === "error") this.#refused(frame);
  }

  #welcome(frame: Frame, asked: Set<string>): void {
    const reconnected = this.#wasOpen;
    const unasked = this.channels.filter((channel) => !asked.has(channel));
    this.#wasOpen = true;
    this.#refusedCodes = 0;
    this.#acceptsMessages = frame.acceptsMessages !== false;
    this.#openedAt = Date.now();
    if (frame.recovered !== true && typeof frame.lastId === "string") this.#lastId = frame.lastId;
    this.#become("open", "connected");
    // What was joined or left while the handshake was under way, and what did not fit into its address.
    for (const channel of unasked) this.#write({ type: "join", channel });
    for (const channel of asked) if (!this.#channels.has(channel)) this.#write({ type: "leave", channel });
    const recovered = !reconnected || (frame.recovered === true && unasked.length === 0);
    const [connectionId, userId] = [textOf(frame.connectionId), textOf(frame.userId)];
    this.#emit("open", { connectionId, userId, reconnected, recovered });
  }

  #deliver(frame: Frame): void {
    const id = textOf(frame.id);
    if (this.#seenIds.has(id)) return;
    this.#seenIds.add(id);
    if (this.#seenIds.size > rememberedIds) this.#seenIds.delete(this.#seenIds.values().next().value ?? "");
    this.#lastId = id;
    const targetType = frame.targetType as PushMessage["targetType"];
    const [target, data] = [textOf(frame.target), textOf(frame.data)];
    this.#emit("message", { id, targetType, target, data, ts: Number(frame.ts) });
  }

  #refused(frame: Frame): void {
    const channel = typeof frame.channel === "string" ? frame.channel : null;
    if (channel !== null) this.#channels.delete(channel); // Otherwise each reconnect would ask for it again.
    this.#emit("problem", { code: textOf(frame.code), message: textOf(frame.message), channel });
  }

  #lost(attempt: number, code: number, reason: string): void {
    if (attempt !== this.#attempt) return;
    this.#attempt++;
    this.#dropSocket();
    const rule = closeRuleOf(code);
    const why = reason || `the connection ended (${code})`;
    const isLastCode = rule === "newCode" && ++this.#refusedCodes >= maxRefusedCodes;
    if (rule === "stop" || isLastCode) this.#end(why, code);
    else this.#waitAfter(rule, why, code);
  }

  #waitAfter(rule: ReturnType<typeof closeRuleOf>, why: string, closeCode: number): void {
    if (this.#openedAt > 0 && Date.now() - this.#openedAt >= steadyMs) this.#failures = 0;
    this.#openedAt = 0;
    const { minDelayMs, maxDelayMs, random } = this.#options;
    const pauseMs = Math.min(maxDelayMs, minDelayMs * 2 ** this.#failures);
    // "Soon" spreads over the whole second, so that a drained server's clients do not come back as one.
    const delayMs = rule === "soon" ? 1000 * random() : pauseMs * (0.5 + random() / 2);
    if (rule !== "soon") this.#failures = Math.min(this.#failures + 1, 30);
    this.#restartTimer(delayMs, () => void this.#connect());
    this.#become("waiting", why, { closeCode, retryAt: Date.now() + delayMs });
  }

  #end(reason: string, code: number | null): void {
    this.#attempt++;
    this.#dropSocket();
    globalThis.removeEventListener?.("online", this.#retryNow);
    const more = code === null ? {} : { closeCode: code };
    if (this.#status.state !== "closed") this.#become("closed", reason, more);
  }

  #dropSocket(): void {
    clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  /** Any frame proves life; browsers hide native pings, so silence is broken with a heartbeat text. */
  #watchHeartbeat(attempt: number): void {
    const { heartbeatIntervalMs, heartbeatTimeoutMs, heartbeatContent } = this.#options;
    this.#restartTimer(heartbeatIntervalMs, () => {
      this.#socket?.send(heartbeatContent);
      this.#restartTimer(heartbeatTimeoutMs, () =>
        this.#lost(attempt, 4201, `no sign of life for ${heartbeatIntervalMs + heartbeatTimeoutMs} ms`),
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

  #become(state: PushState, reason: string, more: Partial<PushStatus> = {}): void {
    this.#status = { closeCode: this.#status.closeCode, retryAt: null, ...more, state, reason };
    this.#emit("status", this.#status);
  }

  #emit<E extends keyof PushEvents>(event: E, value: PushEvents[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      try {
        (listener as (event: PushEvents[E]) => void)(value);
      } catch (error) {
        queueMicrotask(() => Promise.reject(error)); // A failing listener is reported and does not stop reconnects.
      }
    }
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

function textOf(value: unknown): string {
  return String(value ?? "");
}
