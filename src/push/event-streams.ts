import { hashToken, randomToken } from "../secrets.ts";
import type { Connection } from "./connection/connection.ts";
import type { Control, FrameResult } from "./control.ts";
import { EventStream, type EventStreamParts } from "./fanout/event-stream.ts";
import type { SocketEvents } from "./socket-events.ts";

export interface EventStreamsParts extends Pick<EventStreamParts, "topics" | "position"> {
  sockets: SocketEvents;
  control: Control;
  /** Identifies this process by its start. */
  process: string;
}

/**
 * The event streams of this process. Their clients send frames by separate requests, which may arrive at any process: the
 * name of a stream begins with the process that has it, and a secret part shows that the sender may use it.
 */
export class EventStreams {
  readonly #parts: EventStreamsParts;
  /** By the hash of the name, because the log that passes frames on has no secrets. */
  readonly #open = new Map<string, EventStream>();

  constructor(parts: EventStreamsParts) {
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
    const key = hashToken(connection.stream ?? "");
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

  /**
   * Whether a frame for the stream is worth reading: the stream is open here, or its name begins with another process of
   * the cluster, which only admitted clients know.
   */
  mayHave(name: string): boolean {
    return this.isHere(name)
      ? this.#open.has(hashToken(name))
      : this.#parts.control.knowsProcess(processOf(name));
  }

  /** Whether frames for the stream are handled in this process. */
  isHere(name: string): boolean {
    return processOf(name) === this.#parts.process;
  }

  /** Null: the process that has the stream did not answer in time. Rejects if it cannot be asked. */
  async receive(name: string, text: string): Promise<FrameResult | null> {
    const key = hashToken(name);
    return this.isHere(name)
      ? this.receiveHere(key, text)
      : this.#parts.control.passFrame(processOf(name), key, text);
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

function processOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(".")));
}
