import type { Connection, Socket } from "../connection/connection.ts";
import { positionFrame } from "../message/frames.ts";
import { commentOf, eventOf, namedEvent, retryField } from "../message/server-sent-event.ts";
import type { StreamSubscriber, Topics } from "./topics.ts";

/** The body of a response. `write` returns a promise if the client reads too slowly; it resolves when more can be written. */
export interface EventSink {
  write(bytes: Uint8Array): number | Promise<unknown>;
  /** A client that reads nothing for some seconds from now on is disconnected. */
  hurry(): void;
  end(): void;
}

export interface EventStreamParts {
  topics: Topics;
  /** The position after the newest message. */
  position: () => string;
  /** Called when more can be written again. */
  drained: (stream: EventStream) => void;
  closed: (stream: EventStream, code: number) => void;
}

/** How long an EventSource waits before it connects again with its used code, which is refused. */
const retryMs = 3_000;
/** A larger event is written in pieces, so that progress within it is seen. */
const pieceBytes = 64 * 1024;
/** A larger event is written alone: the write costs little beside its bytes. */
const maxHeldBytes = 4 * 1024;

/** A connection by server-sent events. It has the same methods as a WebSocket of the runtime. */
export class EventStream implements Socket, StreamSubscriber {
  readonly data: Connection;
  readonly remoteAddress: string;
  readyState: Socket["readyState"] = WebSocket.OPEN;
  isPaused = false;
  readonly #parts: EventStreamParts;
  readonly #topics = new Set<string>();
  /** Null: the response has not begun, or it has ended. */
  #sink: EventSink | null = null;
  /** True until the response begins, and while the client reads too slowly. */
  #isBlocked = true;
  /** Events that wait; of the first, `#written` bytes are written. */
  #waiting: Uint8Array[] = [];
  #written = 0;
  #unsentBytes = 0;
  /** Events of this turn that were published to topics. */
  #held: Uint8Array[] = [];

  constructor(data: Connection, remoteAddress: string, parts: EventStreamParts) {
    this.data = data;
    this.remoteAddress = remoteAddress;
    this.#parts = parts;
    this.#write(retryField(retryMs));
  }

  /** The response begins. */
  start(sink: EventSink): void {
    this.#sink = sink;
    this.#writeWaiting();
    if (this.readyState === WebSocket.OPEN) this.#parts.drained(this);
  }

  /** The client has disconnected. */
  disconnected(): void {
    this.#sink = null;
    this.#waiting = [];
    this.#end(1006);
  }

  send(frame: string): number {
    this.flush();
    return this.#write(eventOf(frame));
  }

  hold(event: Uint8Array): boolean {
    if (event.length <= maxHeldBytes) return this.#held.push(event) === 1;
    this.flush();
    this.#write(event);
    return false;
  }

  flush(): void {
    if (this.#held.length === 0) return;
    const held = this.#held;
    this.#held = [];
    for (const event of held) this.#write(event);
  }

  /** As a WebSocket of the runtime: 0: closed; -1: the event waits; otherwise its bytes. */
  #write(event: Uint8Array): number {
    if (this.readyState !== WebSocket.OPEN) return 0;
    if (!this.#isBlocked && event.length <= pieceBytes) {
      const written = (this.#sink as EventSink).write(event);
      if (typeof written === "number") return event.length;
      this.#block(written, event.length);
      return -1;
    }
    this.#waiting.push(event);
    this.#unsentBytes += event.length;
    if (!this.#isBlocked) this.#writeWaiting();
    return this.#isBlocked ? -1 : event.length;
  }

  /** The newest position too: without it, a client with no messages for a while could not resume. */
  ping(content: string): number {
    this.flush();
    this.#write(commentOf(content));
    const isLive = this.data.catchUpPosition < 0;
    return isLive ? this.send(positionFrame(this.#parts.position())) : 0;
  }

  getBufferedAmount(): number {
    return this.#unsentBytes;
  }

  /** Events that wait are dropped, because the client resumes after the last event that it received. */
  close(code = 1000, reason = ""): void {
    if (this.readyState !== WebSocket.OPEN) return;
    this.flush();
    this.#waiting.length = this.#written > 0 ? 1 : 0;
    this.#waiting.push(namedEvent("closed", { code, reason }));
    this.#end(code);
    this.#sink?.hurry();
    if (!this.#isBlocked) this.#writeWaiting();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  get subscriptions(): string[] {
    return [...this.#topics];
  }

  subscribe(topic: string): void {
    this.#topics.add(topic);
    this.#parts.topics.add(topic, this);
  }

  unsubscribe(topic: string): void {
    this.#topics.delete(topic);
    this.#parts.topics.remove(topic, this);
  }

  #end(code: number): void {
    if (this.readyState !== WebSocket.OPEN) return;
    this.readyState = WebSocket.CLOSED;
    for (const topic of this.#topics) this.#parts.topics.remove(topic, this);
    this.#parts.closed(this, code);
  }

  #block(untilWritten: Promise<unknown>, bytes: number): void {
    this.#isBlocked = true;
    this.#unsentBytes += bytes;
    untilWritten.then(
      () => {
        this.#unsentBytes -= bytes;
        this.#writeWaiting();
        if (this.readyState === WebSocket.OPEN) this.#parts.drained(this);
      },
      // The client has disconnected, which is reported to `disconnected`.
      () => {},
    );
  }

  #writeWaiting(): void {
    if (!this.#sink) return;
    this.#isBlocked = false;
    for (let event = this.#waiting[0]; event; event = this.#waiting[0]) {
      const piece = event.subarray(this.#written, this.#written + pieceBytes);
      this.#written += piece.length;
      if (this.#written === event.length) {
        this.#waiting.shift();
        this.#written = 0;
      }
      this.#unsentBytes -= piece.length;
      const written = this.#sink.write(piece);
      if (typeof written === "number") continue;
      this.#block(written, piece.length);
      return;
    }
    if (this.readyState === WebSocket.OPEN) return;
    this.#sink.end();
    this.#sink = null;
  }
}
