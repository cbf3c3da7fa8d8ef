import type { Clock } from "../../clock.ts";
import { isConsoleTarget } from "../../model/console/console-names.ts";
import type { Socket } from "../connection/connection.ts";
import type { Connections } from "../connection/connections.ts";
import { type Recipients, rawTopic, v1TopicOf } from "../connection/recipients.ts";
import type { PushCounters } from "../message/counters.ts";
import { messageFrames } from "../message/frames.ts";
import { type PushedMessage, type TargetType, targetsBytes } from "../message/message.ts";
import type { MessageTrace } from "../trace/message-trace.ts";
import type { CatchUp } from "./catch-up.ts";
import type { ResumeRing } from "./resume-ring.ts";
import type { SendBuffers } from "./send-buffer.ts";
import type { Fanout } from "./topics.ts";

export interface HubParts {
  topics: Fanout;
  catchUp: CatchUp;
  connections: Connections;
  ring: ResumeRing;
  sendBuffers: SendBuffers;
  counters: PushCounters;
  trace: MessageTrace;
  clock: Clock;
}

/** A record that clients do not get. They may have its position. */
export type Marker = Pick<PushedMessage, "offset" | "id" | "ageMs" | "receivers">;

/** How often a burst that waits for its readers looks again. */
const waitMs = 10;

/**
 * Sends messages to the connections of this instance through topics of the runtime. Messages that arrive together are sent
 * in one turn of the event loop. A turn ends after a part of what may be unsent for one connection or for all, because the
 * runtime counts unsent bytes, and slow consumers are closed, only between turns.
 */
export class Hub {
  readonly #parts: HubParts;
  /** Resolves when all messages that wait for a later turn are sent; null: none waits. */
  #sending: Promise<void> | null = null;
  #deferredBytes = 0;
  /** Published since the last sweep, for one connection at most and for all. */
  #turn = { bytes: 0, bytesOfAll: 0 };
  /** Recipients since the last sweep; null: all connections. */
  #touched: Set<Socket> | null = new Set();

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /** Delivers in order. Returns a promise only if messages wait for a later turn; it resolves when they are sent. */
  deliver(messages: readonly (PushedMessage | Marker)[]): Promise<void> | undefined {
    const firstWaiting = this.#sending ? 0 : messages.findIndex((message) => !this.#trySend(message));
    if (firstWaiting < 0) return undefined;
    const sending = this.#sendInTurns(messages.slice(firstWaiting), this.#sending).finally(() => {
      if (this.#sending === sending) this.#sending = null;
    });
    this.#sending = sending;
    return sending;
  }

  async #sendInTurns(messages: (PushedMessage | Marker)[], before: Promise<void> | null): Promise<void> {
    const bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0);
    this.#deferredBytes += bytes;
    try {
      await before?.catch(() => {});
      for (const message of messages)
        while (!this.#trySend(message)) {
          // The next turn; or, after one in which nothing could be sent, later.
          await (this.#turn.bytes > 0 ? new Promise(setImmediate) : Bun.sleep(waitMs));
          this.#sweep();
        }
    } finally {
      this.#deferredBytes -= bytes;
    }
  }

  get deferredBytes(): number {
    return this.#deferredBytes;
  }

  /** Keeps a message for clients that resume; of a marker, its position. */
  keep(message: PushedMessage | Marker): void {
    const { ring, clock } = this.#parts;
    const atMs = clock.now() - message.ageMs;
    if ("data" in message) ring.add(message, bytesOf(message) + targetsBytes(message), atMs);
    else ring.addMarker(message.offset, message.id, atMs);
  }

  /** Closes slow consumers also while no messages are sent. */
  tick(): void {
    if (!this.#sending) this.#sweep();
    this.#parts.catchUp.tick();
  }

  /** False: it must wait for the next turn. A message that is larger than a turn is sent alone. */
  #trySend(message: PushedMessage | Marker): boolean {
    const { sendBuffers } = this.#parts;
    const { bytes, bytesOfAll } = this.#turn;
    const afterIt = bytes + bytesOf(message);
    if (bytes === 0 ? sendBuffers.mustWait() : !sendBuffers.fitsTurn(afterIt, bytesOfAll)) return false;
    this.keep(message);
    if ("data" in message) this.#publish(message);
    return true;
  }

  #publish(message: PushedMessage): void {
    const { catchUp, counters, topics, trace } = this.#parts;
    const { targetType, data } = message;
    const sends = this.#sendsOf(message);
    const live = sends.reduce((sum, { raw, v1 }) => sum + raw + v1, 0);
    const catchingUp = catchUp.countRecipients(message);
    message.receivers = live + catchingUp;
    counters.messages[targetType]++;
    if (isConsoleTarget(targetType, message.target)) counters.consoleMessages++;
    counters.deliveries += message.receivers;
    trace.distributed(message, live, catchingUp);
    if (live === 0) return;
    const frameOf = sends.some(({ v1 }) => v1 > 0) ? messageFrames(message) : () => "";
    let frameBytes = bytesOf(message);
    let isDropped = false;
    for (const { topic, target, raw, v1 } of sends) {
      this.#touch(targetType, target);
      if (raw > 0 && topics.publish(topic, data) === 0) isDropped ||= data !== "";
      if (v1 === 0) continue;
      const frame = frameOf(target);
      frameBytes = Math.max(frameBytes, Buffer.byteLength(frame));
      if (topics.publish(v1TopicOf(topic), frame) === 0) isDropped = true;
    }
    this.#turn.bytes += frameBytes;
    this.#turn.bytesOfAll += frameBytes * live;
    if (!isDropped) return;
    // Its buffer is also over our own, lower limit: the sweep closes it.
    counters.dropped++;
    this.#sweep();
  }

  /** One for each target, with its live recipients; of several users, only those that are connected here. */
  #sendsOf({ targetType, target, targets }: Recipients) {
    const { connections, topics } = this.#parts;
    const names = targets ? [...targets].filter((name) => connections.countOfUser(name) > 0) : [target];
    return names.map((name) => {
      const topic = rawTopic(targetType, name);
      const v1 = connections.v1 === 0 ? 0 : topics.subscriberCount(v1TopicOf(topic));
      return { topic, target: name, raw: topics.subscriberCount(topic), v1 };
    });
  }

  #touch(targetType: TargetType, target: string): void {
    if (targetType === "all" || targetType === "channel") this.#touched = null;
    else for (const socket of this.#parts.connections.ofUser(target)) this.#touched?.add(socket);
  }

  #sweep(): void {
    const { connections, sendBuffers } = this.#parts;
    sendBuffers.sweep(this.#touched ?? connections.all());
    this.#turn = { bytes: 0, bytesOfAll: 0 };
    this.#touched = new Set();
  }
}

function bytesOf(message: PushedMessage | Marker): number {
  return "data" in message ? Buffer.byteLength(message.data) : 0;
}
