import type { Clock } from "../clock.ts";
import type { Socket } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { type BroadcastMessage, messageFrame, type TargetType } from "./message.ts";
import type { PushFigures } from "./push-metrics.ts";
import type { ResumeRing } from "./resume-ring.ts";
import { patienceMs, type SendBuffers } from "./send-buffer.ts";
import { hears, rawTopic, topicsOf, v1TopicOf } from "./topics.ts";

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
/** How often a publisher that waits for readers looks again. */
const waitStepMs = 5;

/**
 * Fans messages out to the connections of this instance, through native topics only. What arrives together goes out in
 * one turn of the loop; a turn ends after half a send buffer, because the runtime counts unsent bytes only between turns.
 */
export class Hub {
  readonly #parts: HubParts;
  #fanout: Fanout | null = null;
  #waiting: BroadcastMessage[] = [];
  #waitingBytes = 0;
  #lastReceivers = 0;
  /** Resolves once everything that waits has gone out; null while nothing does. */
  #draining: Promise<void> | null = null;
  #publishedSinceSweep = 0;
  #sweptAtMs = 0;
  /** Users that were sent something since the last sweep; null: everybody was. */
  #touchedUsers: Set<string> | null = new Set();
  readonly #catchingUp = new Set<Socket>();
  /** When the last connection that can resume went. */
  #v1LeftAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /** The runtime's server exists only after the routes do. */
  attach(fanout: Fanout): void {
    this.#fanout = fanout;
  }

  /** Delivers in order. Answers a promise only when the turn had to end before all of it was out. */
  deliver(messages: readonly BroadcastMessage[]): Promise<void> | undefined {
    for (const message of messages) {
      if (this.#draining || this.#publishedSinceSweep >= this.#parts.sendBuffers.turnBytes)
        this.#defer(message);
      else this.#send(message);
    }
    return this.#draining ?? undefined;
  }

  /** Bytes that wait for the next turn. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  #defer(message: BroadcastMessage): void {
    this.#waiting.push(message);
    this.#waitingBytes += message.data.length;
    this.#draining ??= this.#drain();
  }

  /** Connections that the message sent last was handed to. */
  get lastReceivers(): number {
    return this.#lastReceivers;
  }

  /** How many connections hear a target now. */
  receiversOf(targetType: TargetType, target: string): number {
    const topic = rawTopic(targetType, target);
    const v1 = this.#parts.connections.v1 === 0 ? 0 : this.#count(v1TopicOf(topic));
    return this.#count(topic) + v1;
  }

  /** Lets a connection hear its topics from the next message on, or first what it missed since `from`. */
  enter(socket: Socket, from: number): void {
    socket.data.resumeAt = from;
    this.#catchUp(socket);
  }

  /** Called when the runtime could write to the socket again. */
  drained(socket: Socket): void {
    this.#parts.sendBuffers.progressed(socket);
    if (socket.data.resumeAt >= 0) this.#catchUp(socket);
  }

  leave(socket: Socket): void {
    this.#catchingUp.delete(socket);
    this.#parts.sendBuffers.forget(socket);
    if (socket.data.isV1) this.#v1LeftAtMs = this.#parts.clock.now();
  }

  /** Between messages: looks after those who are behind. */
  tick(): void {
    const isDue = this.#parts.clock.now() - this.#sweptAtMs >= sweepIntervalMs;
    if (isDue && this.#publishedSinceSweep > 0 && !this.#draining) this.#sweep();
    else this.#parts.sendBuffers.sweepLagging();
    for (const socket of this.#catchingUp) this.#catchUp(socket);
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (const message of batch) {
        if (this.#publishedSinceSweep >= this.#parts.sendBuffers.turnBytes) await this.#endTurn(message);
        this.#waitingBytes -= message.data.length;
        this.#send(message);
      }
    }
    this.#draining = null;
  }

  /** Lets the runtime write, then waits, briefly, for readers that keep reading but have no room for the next message. */
  async #endTurn(next: BroadcastMessage): Promise<void> {
    const { sendBuffers, clock } = this.#parts;
    await new Promise((resolve) => setImmediate(resolve));
    this.#sweep();
    const bytes = Buffer.byteLength(next.data);
    const untilMs = clock.now() + patienceMs;
    while (!sendBuffers.hasRoomFor(bytes)) {
      if (clock.now() >= untilMs) {
        sendBuffers.giveUpWaitingFor(bytes);
        return;
      }
      await Bun.sleep(waitStepMs);
      sendBuffers.sweepLagging();
    }
  }

  #send(message: BroadcastMessage): void {
    const { connections, ring, sendBuffers, figures, clock } = this.#parts;
    const { targetType, target, data } = message;
    const bytes = Buffer.byteLength(data);
    const nowMs = clock.now();
    if (this.#canBeResumed(nowMs)) ring.add(message, bytes, nowMs);
    else ring.pass();
    figures.messages[targetType]++;
    const topic = rawTopic(targetType, target);
    let frameBytes = 0;
    let isDropped = false;
    const raw = this.#count(topic);
    if (raw > 0) {
      frameBytes = bytes;
      isDropped = this.#fanout?.publish(topic, data) === 0 && bytes > 0;
    }
    const v1 = connections.v1 === 0 ? 0 : this.#count(v1TopicOf(topic));
    if (v1 > 0) {
      const frame = messageFrame(message);
      frameBytes = Math.max(frameBytes, Buffer.byteLength(frame));
      if (this.#fanout?.publish(v1TopicOf(topic), frame) === 0) isDropped = true;
    }
    this.#lastReceivers = raw + v1;
    if (raw + v1 === 0) return;
    figures.deliveries += raw + v1;
    sendBuffers.noteFrame(frameBytes);
    this.#publishedSinceSweep += frameBytes;
    if (targetType === "user" || targetType === "temp_user") this.#touchedUsers?.add(target);
    else this.#touchedUsers = null;
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
    this.#parts.sendBuffers.sweep(this.#touched());
    this.#sweptAtMs = this.#parts.clock.now();
    this.#publishedSinceSweep = 0;
    this.#touchedUsers = new Set();
  }

  *#touched(): Generator<Socket> {
    const { connections } = this.#parts;
    if (this.#touchedUsers === null) yield* connections.all();
    else for (const userId of this.#touchedUsers) yield* connections.ofUser(userId);
  }

  /** Sends from the ring while there is room; at its end, in the same turn, the connection starts to hear its topics. */
  #catchUp(socket: Socket): void {
    const { ring, sendBuffers } = this.#parts;
    const { data } = socket;
    for (; data.resumeAt < ring.end; data.resumeAt++) {
      const message = ring.at(data.resumeAt);
      if (!message) {
        // Slower than the ring forgets: what it missed is gone, and only a new connection can be told so.
        sendBuffers.closeSlow(socket);
        return;
      }
      if (hears(data, message.targetType, message.target) && !this.#sendIfRoom(socket, message)) break;
    }
    // Live messages do not ask for room, and a turn brings up to half a buffer of them.
    if (data.resumeAt < ring.end || !sendBuffers.hasRoom(socket, sendBuffers.turnBytes)) {
      this.#catchingUp.add(socket);
      return;
    }
    data.resumeAt = -1;
    this.#catchingUp.delete(socket);
    for (const topic of topicsOf(data)) socket.subscribe(topic);
  }

  #sendIfRoom(socket: Socket, message: BroadcastMessage): boolean {
    const { sendBuffers } = this.#parts;
    // Asked before it is encoded, too: a frame is never shorter than its data.
    if (!sendBuffers.hasRoom(socket, message.data.length)) return false;
    const frame = messageFrame(message);
    if (!sendBuffers.hasRoom(socket, Buffer.byteLength(frame))) return false;
    sendBuffers.send(socket, frame);
    return true;
  }

  #count(topic: string): number {
    return this.#fanout?.subscriberCount(topic) ?? 0;
  }
}
