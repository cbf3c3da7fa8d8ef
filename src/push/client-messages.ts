import type { Bus } from "../bus/bus.ts";
import type { Clock } from "../clock.ts";
import { isObject, parseJson } from "../json.ts";
import type { Logger } from "../logger.ts";
import { oncePerSecond } from "../once-per-second.ts";
import { type Channels, joinRefusalTexts, maxChannelsPerConnection } from "./connection/channels.ts";
import { closeCodes, type Socket } from "./connection/connection.ts";
import type { MessageBuffer } from "./events/message-buffer.ts";
import type { ResumeRing } from "./fanout/resume-ring.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import type { PushCounters } from "./message/counters.ts";
import { errorFrame, joinedFrame, leftFrame, positionFrame } from "./message/frames.ts";
import type { ClientMessage } from "./message/outgoing-event.ts";
import type { Refreshes } from "./refresh.ts";
import type { MessageTrace } from "./trace/message-trace.ts";

export interface ClientMessageOptions {
  acceptClientMessage: boolean;
  /** Frames per second and connection; 0: no limit. */
  clientMessageRate: number;
  heartbeatContent: string;
}

/** Streams of client messages on other workers of this instance. */
export interface RemoteListeners {
  readonly count: number;
  send(message: ClientMessage): void;
  /** Receives the messages of clients of other workers. */
  onMessage(receive: (message: ClientMessage) => void): void;
  /** Reports the number of streams on this worker. */
  report(listeners: number): void;
}

export interface ClientMessageParts {
  /** Null: there are no other workers. */
  remote: RemoteListeners | null;
  channels: Channels;
  refreshes: Pick<Refreshes, "present">;
  trace: Pick<MessageTrace, "acknowledged">;
  ring: Pick<ResumeRing, "position">;
  sendBuffers: SendBuffers;
  counters: PushCounters;
  /** Receives accepted messages; null: they are not queued. */
  queue: Bus | null;
  /** Receives accepted messages for push.events-uri; null: it is not set. */
  events: Pick<MessageBuffer, "add"> | null;
  clock: Clock;
  steady: Clock;
  log: Logger;
  node: string;
  newId: () => string;
}

/** Unconfirmed messages of one connection; beyond this its socket is paused. */
const maxUnconfirmed = 32;

/** Enough to leave every channel and join as many others at once, as after a page change or a reconnect. */
const maxMembershipChangesPerSecond = 2 * maxChannelsPerConnection;

export interface ClientMessageListener {
  received(message: ClientMessage): void;
  /** Called once, when the gateway stops. */
  ended(): void;
}

/** Handles frames from clients: heartbeats, `join`, `leave`, and messages for other services. */
export class ClientMessages {
  readonly #options: ClientMessageOptions;
  readonly #parts: ClientMessageParts;
  readonly #listeners = new Set<ClientMessageListener>();
  readonly #warnLost: () => void;

  constructor(options: ClientMessageOptions, parts: ClientMessageParts) {
    this.#options = options;
    this.#parts = parts;
    this.#warnLost = oncePerSecond(parts.steady, (lost) =>
      parts.log.warn({ lost }, "client messages could not be written to the queue"),
    );
    parts.remote?.onMessage((message) => {
      for (const listener of this.#listeners) listener.received(message);
    });
  }

  get isAccepting(): boolean {
    return this.#options.acceptClientMessage;
  }

  get listeners(): number {
    return this.#listeners.size + (this.#parts.remote?.count ?? 0);
  }

  /** Returns a function that removes the listener. */
  listen(listener: ClientMessageListener): () => void {
    this.#listeners.add(listener);
    this.#parts.remote?.report(this.#listeners.size);
    return () => {
      this.#listeners.delete(listener);
      this.#parts.remote?.report(this.#listeners.size);
    };
  }

  /** Ends all streams, so that a stopping server does not wait for them. */
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
    else this.#accept(socket, frame);
  }

  /** Also sends the newest position: without it, a client with no messages for a while could not resume. */
  #echo(socket: Socket, heartbeat: string): void {
    const { ring } = this.#parts;
    this.#reply(socket, heartbeat);
    const isCatchingUp = socket.data.catchUpPosition >= 0;
    if (socket.data.isV1 && !isCatchingUp) this.#reply(socket, positionFrame(ring.position));
  }

  /** Counts every frame, whatever its content. Over the limit the connection is closed. */
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
      data.membershipCount = 0;
    }
    return ++data.rateCount <= clientMessageRate || this.#closeFlood(socket);
  }

  /** Joins and leaves have their own limit, because a client with many channels sends many at once. */
  #mayChangeMembership(socket: Socket): boolean {
    const { clientMessageRate } = this.#options;
    if (clientMessageRate === 0) return true;
    socket.data.rateCount--;
    const limit = Math.max(clientMessageRate, maxMembershipChangesPerSecond);
    return ++socket.data.membershipCount <= limit || this.#closeFlood(socket);
  }

  #closeFlood(socket: Socket): false {
    socket.close(closeCodes.tooManyMessages, "too many client messages");
    return false;
  }

  #receiveV1(socket: Socket, text: string): void {
    const frame = parseJson(text);
    if (!isObject(frame)) this.#replyInvalid(socket);
    else if (frame.type === "message" && typeof frame.data === "string") this.#accept(socket, frame.data);
    else if (frame.type === "join" && typeof frame.channel === "string") this.#join(socket, frame.channel);
    else if (frame.type === "leave" && typeof frame.channel === "string") this.#leave(socket, frame.channel);
    else if (frame.type === "ack" && typeof frame.id === "string") this.#acknowledge(socket, frame.id);
    else if (frame.type === "refresh" && typeof frame.code === "string")
      void this.#parts.refreshes.present(socket, frame.code);
    else this.#replyInvalid(socket);
  }

  #replyInvalid(socket: Socket): void {
    const text =
      'Send {"type":"message","data"}, join or leave with a channel, ack with an id, or refresh with a code.';
    this.#reply(socket, errorFrame("frame_invalid", text));
  }

  #join(socket: Socket, channel: string): void {
    if (!this.#mayChangeMembership(socket)) return;
    const refusal = this.#parts.channels.join(socket, channel);
    this.#reply(
      socket,
      refusal ? errorFrame(refusal, joinRefusalTexts[refusal], channel) : joinedFrame(channel),
    );
  }

  #leave(socket: Socket, channel: string): void {
    if (!this.#mayChangeMembership(socket)) return;
    this.#parts.channels.leave(socket, channel);
    this.#reply(socket, leftFrame(channel));
  }

  /** An acknowledgement that was asked for does not count against the rate: the publisher decides how many there are. */
  #acknowledge(socket: Socket, id: string): void {
    if (this.#parts.trace.acknowledged(socket, id)) socket.data.rateCount--;
  }

  #accept(socket: Socket, data: string): void {
    const { counters, clock, node, newId, queue, remote } = this.#parts;
    const events = socket.data.isConsole ? null : this.#parts.events;
    if (!this.#options.acceptClientMessage) {
      counters.clientMessages.ignored++;
      return;
    }
    counters.clientMessages.accepted++;
    if (queue === null && events === null && this.listeners === 0) return;
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
    for (const listener of this.#listeners) listener.received(message);
    if (remote && remote.count > 0) remote.send(message);
    if (queue) void this.#enqueue(socket, queue, message);
    if (events && !events.add(message)) this.#noteFailed(socket);
  }

  /** Messages of a connection are sent without waiting for each other: the bus keeps the order of one key. */
  async #enqueue(socket: Socket, queue: Bus, message: ClientMessage): Promise<void> {
    const { data } = socket;
    if (++data.unconfirmed >= maxUnconfirmed) socket.pause();
    try {
      await queue.publish("client", data.id, message);
    } catch {
      this.#warnLost();
      this.#noteFailed(socket);
    } finally {
      if (--data.unconfirmed < maxUnconfirmed / 2 && socket.isPaused) socket.resume();
    }
  }

  #noteFailed(socket: Socket): void {
    this.#parts.counters.clientMessages.failed++;
    if (!socket.data.isV1) return;
    this.#reply(socket, errorFrame("queue_unavailable", "The message was not stored; send it again later."));
  }

  #reply(socket: Socket, frame: string): void {
    this.#parts.sendBuffers.send(socket, frame);
  }
}
