import type { Bus } from "../bus/bus.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { oncePerSecond } from "../once-per-second.ts";
import { type Channels, joinRefusalTexts, maxChannelsPerConnection } from "./connection/channels.ts";
import { closeCodes, type Socket } from "./connection/connection.ts";
import type { ResumeRing } from "./fanout/resume-ring.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import type { PushFigures } from "./message/figures.ts";
import {
  type ClientMessage,
  errorFrame,
  isRecord,
  joinedFrame,
  leftFrame,
  positionFrame,
} from "./message/message.ts";

export interface ClientMessageOptions {
  acceptClientMessage: boolean;
  /** Frames per second and connection; 0: no limit. */
  clientMessageRate: number;
  heartbeatContent: string;
}

export interface ClientMessageParts {
  channels: Channels;
  ring: Pick<ResumeRing, "lastId">;
  sendBuffers: SendBuffers;
  figures: PushFigures;
  /** Where accepted messages are written; null: nowhere. */
  queue: Bus | null;
  clock: Clock;
  steady: Clock;
  log: Log;
  node: string;
  newId: () => string;
}

/** So many messages of one connection may wait for the queue's confirmation; then the socket is not read for a while. */
const maxUnconfirmed = 32;

/** Enough to leave every channel and join as many others at once, as a page change or a reconnect does. */
const maxMovesPerSecond = 2 * maxChannelsPerConnection;

export interface ClientMessageListener {
  heard(message: ClientMessage): void;
  /** There will be no more: the gateway stops. */
  ended(): void;
}

/** What clients send: heartbeats, `join` and `leave`, and messages for other services. */
export class ClientMessages {
  readonly #options: ClientMessageOptions;
  readonly #parts: ClientMessageParts;
  readonly #listeners = new Set<ClientMessageListener>();
  readonly #complain: () => void;

  constructor(options: ClientMessageOptions, parts: ClientMessageParts) {
    this.#options = options;
    this.#parts = parts;
    this.#complain = oncePerSecond(parts.steady, (lost) =>
      parts.log.warn({ lost }, "client messages could not be written to the queue"),
    );
  }

  get isAccepting(): boolean {
    return this.#options.acceptClientMessage;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Answers the function that ends listening. */
  listen(listener: ClientMessageListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends all listening, so that a server that stops does not wait for streams without end. */
  endListening(): void {
    for (const listener of [...this.#listeners]) listener.ended();
    this.#listeners.clear();
  }

  receive(socket: Socket, frame: string | Uint8Array): void {
    if (typeof frame !== "string") {
      socket.close(closeCodes.unsupported, "binary frames are not supported");
      return;
    }
    if (!this.isWithinRate(socket)) return;
    if (frame === this.#options.heartbeatContent) this.#echo(socket, frame);
    else if (socket.data.isV1) this.#receiveV1(socket, frame);
    else this.#take(socket, frame);
  }

  /** Also tells where to resume: the last message for a quiet client may be older than what the ring remembers. */
  #echo(socket: Socket, heartbeat: string): void {
    const { ring } = this.#parts;
    this.#answer(socket, heartbeat);
    const isCatchingUp = socket.data.resumeAt >= 0;
    if (socket.data.isV1 && !isCatchingUp) this.#answer(socket, positionFrame(ring.lastId));
  }

  /** Every frame counts, whatever it carries: a flood costs the same. Over the rate the connection is closed. */
  isWithinRate(socket: Socket): boolean {
    const { data } = socket;
    const nowMs = this.#parts.steady.now();
    data.lastSeenAtMs = nowMs;
    const { clientMessageRate } = this.#options;
    if (clientMessageRate === 0) return true;
    const second = Math.floor(nowMs / 1000);
    if (data.rateSecond !== second) {
      data.rateSecond = second;
      data.rateCount = 0;
      data.moveCount = 0;
    }
    return ++data.rateCount <= clientMessageRate || this.#closeFlood(socket);
  }

  /** Joins and leaves are counted by themselves: a client with many channels is no flood. */
  #mayMove(socket: Socket): boolean {
    const { clientMessageRate } = this.#options;
    if (clientMessageRate === 0) return true;
    socket.data.rateCount--;
    const limit = Math.max(clientMessageRate, maxMovesPerSecond);
    return ++socket.data.moveCount <= limit || this.#closeFlood(socket);
  }

  #closeFlood(socket: Socket): false {
    socket.close(closeCodes.tooManyMessages, "too many client messages");
    return false;
  }

  #receiveV1(socket: Socket, text: string): void {
    const frame = parseFrame(text);
    if (frame?.type === "message" && typeof frame.data === "string") this.#take(socket, frame.data);
    else if (frame?.type === "join" && typeof frame.channel === "string") this.#join(socket, frame.channel);
    else if (frame?.type === "leave" && typeof frame.channel === "string") this.#leave(socket, frame.channel);
    else
      this.#answer(
        socket,
        errorFrame("frame_invalid", 'Send {"type":"message","data"}, or join or leave with a channel.'),
      );
  }

  #join(socket: Socket, channel: string): void {
    if (!this.#mayMove(socket)) return;
    const refusal = this.#parts.channels.join(socket, channel);
    this.#answer(
      socket,
      refusal ? errorFrame(refusal, joinRefusalTexts[refusal], channel) : joinedFrame(channel),
    );
  }

  #leave(socket: Socket, channel: string): void {
    if (!this.#mayMove(socket)) return;
    this.#parts.channels.leave(socket, channel);
    this.#answer(socket, leftFrame(channel));
  }

  #take(socket: Socket, data: string): void {
    const { figures, clock, node, newId, queue } = this.#parts;
    if (!this.#options.acceptClientMessage) {
      figures.clientMessages.ignored++;
      return;
    }
    figures.clientMessages.accepted++;
    if (queue === null && this.#listeners.size === 0) return;
    const { id: connectionId, userId, kind } = socket.data;
    const message: ClientMessage = {
      v: 1,
      id: newId(),
      ts: clock.now(),
      node,
      connectionId,
      userId,
      kind,
      data,
    };
    for (const listener of this.#listeners) listener.heard(message);
    if (queue) void this.#enqueue(socket, queue, message);
  }

  /** The bus keeps the order of one key, so that messages of a connection need not wait for each other here. */
  async #enqueue(socket: Socket, queue: Bus, message: ClientMessage): Promise<void> {
    const { data } = socket;
    if (++data.unconfirmed >= maxUnconfirmed) socket.pause();
    try {
      await queue.publish("client", data.id, message);
    } catch {
      this.#parts.figures.clientMessages.failed++;
      this.#complain();
      if (data.isV1)
        this.#answer(
          socket,
          errorFrame("queue_unavailable", "The message was not stored; send it again later."),
        );
    } finally {
      if (--data.unconfirmed < maxUnconfirmed / 2 && socket.isPaused) socket.resume();
    }
  }

  #answer(socket: Socket, frame: string): void {
    this.#parts.sendBuffers.send(socket, frame);
  }
}

function parseFrame(text: string): Record<string, unknown> | null {
  try {
    const frame: unknown = JSON.parse(text);
    return isRecord(frame) ? frame : null;
  } catch {
    return null;
  }
}
