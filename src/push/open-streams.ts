import { hashToken, randomToken } from "../secrets.ts";
import type { Connection } from "./connection/connection.ts";
import type { FrameResult } from "./control.ts";
import { EventStream, type EventStreamParts } from "./fanout/event-stream.ts";
import type { SocketEvents } from "./socket-events.ts";

export interface OpenStreamsParts extends Pick<EventStreamParts, "topics" | "position"> {
  sockets: SocketEvents;
  /** Identifies this process by its start. */
  process: string;
}

/**
 * The event streams of this process. The name of a stream begins with its process, and a secret part shows that the sender of
 * a frame may use it.
 */
export class OpenStreams {
  readonly #parts: OpenStreamsParts;
  /** By the hash of the name. */
  readonly #open = new Map<string, EventStream>();

  constructor(parts: OpenStreamsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  newName(): string {
    return `${this.#parts.process}.${randomToken(18)}`;
  }

  /** The stream of an admitted connection. It has its welcome, and waits for the response to begin. */
  open(connection: Connection, remoteAddress: string): EventStream {
    const { topics, position, sockets } = this.#parts;
    const key = keyOf(connection.stream ?? "");
    const stream = new EventStream(connection, remoteAddress, {
      topics,
      position,
      drained: (drained) => sockets.drained(drained),
      closed: (closed, code) => {
        this.#open.delete(key);
        sockets.closed(closed, code);
      },
    });
    this.#open.set(key, stream);
    sockets.opened(stream);
    return stream;
  }

  /** Whether the stream of a client's frame is open. */
  has(name: string): boolean {
    return this.#open.has(keyOf(name));
  }

  /** A frame of a client, by the hash of the stream's name. */
  receiveHere(key: string, text: string): FrameResult {
    const stream = this.#open.get(key);
    if (!stream) return "unknown";
    if (stream.isPaused) return "busy";
    this.#parts.sockets.received(stream, text);
    return "accepted";
  }
}

/** The log that passes frames on has no secrets. */
export function keyOf(name: string): string {
  return hashToken(name);
}
