import type { Clock } from "../../clock.ts";
import type { Socket } from "../connection/connection.ts";
import type { Connections } from "../connection/connections.ts";
import { hears, rawTopic, v1TopicOf } from "../connection/topics.ts";
import type { PushFigures } from "../message/figures.ts";
import { type BroadcastMessage, messageFrame, type TargetType } from "../message/message.ts";
import { CatchUp } from "./catch-up.ts";
import type { ResumeRing } from "./resume-ring.ts";
import type { SendBuffers } from "./send-buffer.ts";

/** The runtime's fan-out: one call reaches every subscriber of a topic. */
export interface Fanout {
  publish(topic: string, text: string): number;
  subscriberCount(topic: string): number;
}

export interface HubParts {
  connections: Connections;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  figures: PushFigures;
  clock: Clock;
  /** Whether clients of other instances come here to resume. */
  isShared: boolean;
}

/** Between bursts a sweep of everybody is due this often; it costs about 0.1 µs per connection. */
const sweepIntervalMs = 1000;

/** A message that waits for the next turn. */
interface Waiting {
  message: BroadcastMessage;
  bytes: number;
  /** Told when it is out. */
  onSent: (() => void) | null;
}

/**
 * Fans messages out to the connections of this instance, through native topics only. What arrives together goes out in
 * one turn of the loop; a turn ends after half a send buffer, because the runtime counts unsent bytes only between turns.
 * Whoever has no room for the next message leaves the topics and catches up by itself: nobody waits for anybody.
 */
export class Hub {
  readonly #parts: HubParts;
  #fanout: Fanout | null = null;
  readonly #catchUp: CatchUp;
  /** In order; once one waits, all that follow do. */
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #lastReceivers = 0;
  #publishedSinceSweep = 0;
  #sweptAtMs = 0;
  /** Users that were sent something since the last sweep; null: everybody was. */
  #touchedUsers: Set<string> | null = new Set();
  /** When the last connection that can resume went. */
  #v1LeftAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#catchUp = new CatchUp(parts);
  }

  /** The runtime's server exists only after the routes do. */
  attach(fanout: Fanout): void {
    this.#fanout = fanout;
  }

  /** Delivers in order. Answers a promise, of the last one's going out, only when the turn had to end before it. */
  deliver(messages: readonly BroadcastMessage[]): Promise<void> | undefined {
    for (const message of messages) {
      const bytes = Buffer.byteLength(message.data);
      if (this.#waiting.length > 0 || !this.#fitsTurn(bytes)) this.#defer(message, bytes);
      else this.#send(message, bytes);
    }
    const last = this.#waiting.at(-1);
    if (!last || last.message !== messages.at(-1)) return undefined;
    return new Promise((resolve) => {
      last.onSent = resolve;
    });
  }

  /** Bytes that wait for the next turn. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** A message that is larger than a turn has one of its own. */
  #fitsTurn(bytes: number): boolean {
    return (
      this.#publishedSinceSweep === 0 ||
      this.#publishedSinceSweep + bytes <= this.#parts.sendBuffers.turnBytes
    );
  }

  #defer(message: BroadcastMessage, bytes: number): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#nextTurn());
    this.#waiting.push({ message, bytes, onSent: null });
    this.#waitingBytes += bytes;
  }

  #nextTurn(): void {
    let sent = 0;
    try {
      this.#sweep();
      for (const { message, bytes } of this.#waiting) {
        if (!this.#fitsTurn(bytes)) break;
        sent++;
        this.#waitingBytes -= bytes;
        this.#send(message, bytes);
      }
    } finally {
      for (const { onSent } of this.#waiting.splice(0, sent)) onSent?.();
      if (this.#waiting.length > 0) setImmediate(() => this.#nextTurn());
    }
  }

  /** Connections that the message sent last was handed to. */
  get lastReceivers(): number {
    return this.#lastReceivers;
  }

  /** How many connections hear a target now. */
  receiversOf(targetType: TargetType, target: string): number {
    const topic = rawTopic(targetType, target);
    const v1 = this.#parts.connections.v1 === 0 ? 0 : this.#count(v1TopicOf(topic));
    return this.#count(topic) + v1 + this.#catchUp.hearing(targetType, target);
  }

  /** Lets a connection hear its topics from the next message on, or first what it missed since `from`. */
  enter(socket: Socket, from: number): void {
    this.#catchUp.enter(socket, from);
  }

  /** Called when the runtime could write to the socket again. */
  drained(socket: Socket): void {
    this.#parts.sendBuffers.progressed(socket);
    this.#catchUp.advance(socket);
  }

  leave(socket: Socket): void {
    this.#catchUp.leave(socket);
    this.#parts.sendBuffers.forget(socket);
    if (socket.data.isV1) this.#v1LeftAtMs = this.#parts.clock.now();
  }

  /** Between messages: looks after those who are behind. */
  tick(): void {
    const isDue = this.#parts.clock.now() - this.#sweptAtMs >= sweepIntervalMs;
    if (isDue && this.#publishedSinceSweep > 0 && this.#waiting.length === 0) this.#sweep();
    else this.#sweepLagging();
    this.#catchUp.tick();
  }

  #send(message: BroadcastMessage, bytes: number): void {
    const { connections, ring, sendBuffers, figures, clock } = this.#parts;
    const { targetType, target, data } = message;
    const topic = rawTopic(targetType, target);
    const raw = this.#count(topic);
    const v1 = connections.v1 === 0 ? 0 : this.#count(v1TopicOf(topic));
    const frame = v1 === 0 ? "" : messageFrame(message);
    const frameBytes = v1 === 0 ? bytes : Math.max(bytes, Buffer.byteLength(frame));
    const turn = this.#publishedSinceSweep + frameBytes;
    const isLarge = turn > sendBuffers.turnBytes;
    if (isLarge && this.#fallBehind(turn, (socket) => hears(socket.data, targetType, target))) {
      // Fewer hear it live now.
      this.#send(message, bytes);
      return;
    }
    const nowMs = clock.now();
    if (this.#canBeResumed(nowMs)) ring.add(message, bytes, nowMs);
    else ring.pass(nowMs);
    figures.messages[targetType]++;
    const behind = this.#catchUp.hearing(targetType, target);
    if (behind > 0) this.#catchUp.keep(message);
    this.#lastReceivers = raw + v1 + behind;
    figures.deliveries += this.#lastReceivers;
    if (raw + v1 === 0) return;
    sendBuffers.noteFrame(frameBytes);
    this.#publishedSinceSweep = turn;
    if (targetType === "user" || targetType === "temp_user") this.#touchedUsers?.add(target);
    else this.#touchedUsers = null;
    let isDropped = false;
    if (raw > 0 && this.#fanout?.publish(topic, data) === 0) isDropped = bytes > 0;
    if (v1 > 0 && this.#fanout?.publish(v1TopicOf(topic), frame) === 0) isDropped = true;
    if (isDropped) this.#closeDropped();
  }

  /** Whoever the runtime skipped is over its limit, and so over ours, which is lower: the sweep closes it. */
  #closeDropped(): void {
    this.#parts.figures.dropped++;
    this.#sweep();
  }

  /** Only `slipway.v1` resumes, from what it heard before: where none has been for as long as the ring remembers, none can. */
  #canBeResumed(nowMs: number): boolean {
    const { connections, isShared, ring } = this.#parts;
    return isShared || connections.v1 > 0 || nowMs - this.#v1LeftAtMs <= ring.maxAgeMs;
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

  /** Takes those out of the topics who have no room for so much more; answers whether there was one. */
  #fallBehind(bytes: number, isConcerned: (socket: Socket) => boolean = () => true): boolean {
    const fallen = this.#parts.sendBuffers
      .withoutRoomFor(bytes)
      .filter((socket) => isConcerned(socket) && this.#catchUp.fallBehind(socket));
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
