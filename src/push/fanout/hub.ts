import type { Clock } from "../../clock.ts";
import { isConsoleTarget } from "../../model/console/console-names.ts";
import type { Socket } from "../connection/connection.ts";
import type { Connections } from "../connection/connections.ts";
import { isRecipient, type Recipients, rawTopic, v1TopicOf } from "../connection/recipients.ts";
import type { PushCounters } from "../message/counters.ts";
import { messageFrames } from "../message/frames.ts";
import { type PushedMessage, targetsBytes } from "../message/message.ts";
import type { MessageTrace } from "../trace/message-trace.ts";
import { CatchUp } from "./catch-up.ts";
import type { ResumeRing } from "./resume-ring.ts";
import type { SendBuffers } from "./send-buffer.ts";

/** The runtime's publish/subscribe: one call sends to every subscriber of a topic. */
export interface Fanout {
  publish(topic: string, text: string): number;
  subscriberCount(topic: string): number;
}

export interface HubParts {
  connections: Connections;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  counters: PushCounters;
  trace: MessageTrace;
  clock: Clock;
  /** Whether clients of other instances or workers may resume here. */
  isShared: boolean;
}

/** A record that clients do not get. They may have its position. */
export type Marker = Pick<PushedMessage, "offset" | "id" | "ageMs" | "receivers">;

/** Between bursts all connections are swept this often; a sweep costs about 0.1 µs per connection. */
const sweepIntervalMs = 1000;

/** A message to one target: the live recipients of each protocol. */
interface Send {
  topic: string;
  target: string;
  raw: number;
  v1: number;
}

/** A message that is sent in a later turn of the event loop. */
interface Deferred {
  message: PushedMessage | Marker;
  bytes: number;
  onSent: (() => void) | null;
}

/**
 * Sends messages to the connections of this instance through topics of the runtime. Messages that arrive together are sent
 * in one turn of the event loop. A turn ends after half a send buffer, because the runtime counts unsent bytes only
 * between turns. A slow consumer without room for the next message reads from the shared backlog; other connections never
 * wait for it.
 */
export class Hub {
  readonly #parts: HubParts;
  #fanout: Fanout | null = null;
  readonly #catchUp: CatchUp;
  /** In order: while it is not empty, every new message is deferred too. */
  readonly #deferred: Deferred[] = [];
  #deferredBytes = 0;
  #publishedSinceSweep = 0;
  #sweptAtMs = 0;
  /** Users with messages since the last sweep; null: all connections. */
  #touchedUsers: Set<string> | null = new Set();
  /** When a connection that can resume was last removed; clients of the process before this one may resume here. */
  #v1RemovedAtMs: number;

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#catchUp = new CatchUp(parts);
    this.#v1RemovedAtMs = parts.clock.now();
  }

  /** The server of the runtime is created after its routes, and so after the hub. */
  attach(fanout: Fanout): void {
    this.#fanout = fanout;
  }

  /** Delivers in order. Returns a promise only if the last message is deferred; it resolves when that message is sent. */
  deliver(messages: readonly (PushedMessage | Marker)[]): Promise<void> | undefined {
    for (const message of messages) {
      const bytes = "data" in message ? Buffer.byteLength(message.data) : 0;
      if (this.#deferred.length > 0 || !this.#fitsTurn(bytes)) this.#defer(message, bytes);
      else this.#send(message, bytes);
    }
    const last = this.#deferred.at(-1);
    if (!last || last.message !== messages.at(-1)) return undefined;
    return new Promise((resolve) => {
      last.onSent = resolve;
    });
  }

  get deferredBytes(): number {
    return this.#deferredBytes;
  }

  /** Keeps a message for clients that resume; of a marker, its position. */
  keep(message: PushedMessage | Marker, bytes = 0): void {
    const { ring, clock } = this.#parts;
    const nowMs = clock.now();
    const atMs = nowMs - message.ageMs;
    if (!("data" in message)) ring.addMarker(message.offset, message.id, atMs);
    else if (this.#canBeResumed(nowMs))
      ring.add(message, (bytes || Buffer.byteLength(message.data)) + targetsBytes(message), atMs);
    else ring.skip(message);
  }

  /** A message that is larger than a turn is sent alone. */
  #fitsTurn(bytes: number): boolean {
    return (
      this.#publishedSinceSweep === 0 ||
      this.#publishedSinceSweep + bytes <= this.#parts.sendBuffers.turnBytes
    );
  }

  #defer(message: PushedMessage | Marker, bytes: number): void {
    if (this.#deferred.length === 0) setImmediate(() => this.#nextTurn());
    this.#deferred.push({ message, bytes, onSent: null });
    this.#deferredBytes += bytes;
  }

  #nextTurn(): void {
    let sent = 0;
    try {
      this.#sweep();
      for (const { message, bytes } of this.#deferred) {
        if (!this.#fitsTurn(bytes)) break;
        sent++;
        this.#deferredBytes -= bytes;
        this.#send(message, bytes);
      }
    } finally {
      for (const { onSent } of this.#deferred.splice(0, sent)) onSent?.();
      if (this.#deferred.length > 0) setImmediate(() => this.#nextTurn());
    }
  }

  /** Sends a frame to the `slipway.v1` members of a channel here. */
  notifyChannel(channel: string, frame: string): void {
    this.#fanout?.publish(v1TopicOf(rawTopic("channel", channel)), frame);
  }

  /** Messages before the next one may be missing: nobody resumes from an earlier one. */
  forgetEarlier(): void {
    this.#parts.ring.clear();
  }

  /** Sends the messages since ring index `from`, if any, then subscribes the connection to its topics. */
  add(socket: Socket, from: number): void {
    this.#catchUp.start(socket, from);
  }

  /** Called when the runtime could write to the socket again. */
  drained(socket: Socket): void {
    this.#parts.sendBuffers.noteProgress(socket);
    this.#catchUp.advance(socket);
  }

  remove(socket: Socket): void {
    this.#catchUp.remove(socket);
    this.#parts.sendBuffers.forget(socket);
    if (socket.data.isV1) this.#v1RemovedAtMs = this.#parts.clock.now();
  }

  /** Serves slow consumers while no messages are sent. */
  tick(): void {
    const isDue = this.#parts.clock.now() - this.#sweptAtMs >= sweepIntervalMs;
    if (isDue && this.#publishedSinceSweep > 0 && this.#deferred.length === 0) this.#sweep();
    else this.#sweepLagging();
    this.#catchUp.tick();
  }

  #send(message: PushedMessage | Marker, bytes: number): void {
    const { sendBuffers, counters, trace } = this.#parts;
    if (!("data" in message)) {
      this.keep(message);
      return;
    }
    const { targetType, data } = message;
    const sends = this.#sendsOf(message);
    const raw = sends.reduce((sum, send) => sum + send.raw, 0);
    const v1 = sends.reduce((sum, send) => sum + send.v1, 0);
    const frameOf = v1 === 0 ? () => "" : messageFrames(message);
    const longest = sends.reduce((name, { target }) => (target.length > name.length ? target : name), "");
    const frameBytes = v1 === 0 ? bytes : Math.max(bytes, Buffer.byteLength(frameOf(longest)));
    const turn = this.#publishedSinceSweep + frameBytes;
    const isLarge = turn > sendBuffers.turnBytes;
    if (isLarge && this.#fallBehind(turn, (socket) => isRecipient(socket.data, message))) {
      // Fewer recipients are live now, so the frame is encoded and measured again.
      this.#send(message, bytes);
      return;
    }
    this.keep(message, bytes);
    counters.messages[targetType]++;
    if (isConsoleTarget(targetType, message.target)) counters.consoleMessages++;
    const catchingUp = this.#catchUp.countRecipients(message);
    if (catchingUp > 0) this.#catchUp.addToBacklog(message);
    message.receivers = raw + v1 + catchingUp;
    counters.deliveries += message.receivers;
    trace.distributed(message, raw + v1, catchingUp);
    if (raw + v1 === 0) return;
    sendBuffers.noteFrame(frameBytes);
    this.#publishedSinceSweep = turn;
    let isDropped = false;
    for (const send of sends) {
      if (targetType === "user" || targetType === "temp_user") this.#touchedUsers?.add(send.target);
      else this.#touchedUsers = null;
      if (send.raw > 0 && this.#fanout?.publish(send.topic, data) === 0) isDropped ||= bytes > 0;
      if (send.v1 > 0 && this.#fanout?.publish(v1TopicOf(send.topic), frameOf(send.target)) === 0)
        isDropped = true;
    }
    if (isDropped) this.#closeDropped();
  }

  /** One for each target; of several users, only those that are connected here. */
  #sendsOf({ targetType, target, targets }: Recipients): Send[] {
    const { connections } = this.#parts;
    const names = targets ? [...targets].filter((name) => connections.countOfUser(name) > 0) : [target];
    return names.map((name) => {
      const topic = rawTopic(targetType, name);
      const v1 = connections.v1 === 0 ? 0 : this.#count(v1TopicOf(topic));
      return { topic, target: name, raw: this.#count(topic), v1 };
    });
  }

  /** A connection for which the runtime dropped a message is also over our own, lower limit: the sweep closes it. */
  #closeDropped(): void {
    this.#parts.counters.dropped++;
    this.#sweep();
  }

  /** Only `slipway.v1` clients resume. Without one for as long as the ring keeps messages, no client can. */
  #canBeResumed(nowMs: number): boolean {
    const { connections, isShared, ring } = this.#parts;
    return isShared || connections.v1 > 0 || nowMs - this.#v1RemovedAtMs <= ring.maxAgeMs;
  }

  #sweep(): void {
    const { sendBuffers } = this.#parts;
    sendBuffers.sweep(this.#touched());
    this.#sweptAtMs = this.#parts.clock.now();
    this.#publishedSinceSweep = 0;
    this.#touchedUsers = new Set();
    this.#fallBehind(sendBuffers.turnBytes);
  }

  #sweepLagging(): void {
    const { sendBuffers } = this.#parts;
    sendBuffers.sweepLagging();
    this.#fallBehind(sendBuffers.turnBytes);
  }

  /** Moves slow consumers without room for `bytes` more to the backlog; true: there was one. */
  #fallBehind(bytes: number, isAffected: (socket: Socket) => boolean = () => true): boolean {
    const fallen = this.#parts.sendBuffers
      .withoutRoomFor(bytes)
      .filter((socket) => isAffected(socket) && this.#catchUp.fallBehind(socket));
    return fallen.length > 0;
  }

  *#touched(): Generator<Socket> {
    const { connections } = this.#parts;
    if (this.#touchedUsers === null) yield* connections.all();
    else for (const userId of this.#touchedUsers) yield* connections.ofUser(userId);
  }

  #count(topic: string): number {
    return this.#fanout?.subscriberCount(topic) ?? 0;
  }
}
