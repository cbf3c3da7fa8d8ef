import { AMQPError, type AsyncMessage, type Channel, type Connection } from "rabbitmq-client";
import type { BrokerLink } from "../broker-bus.ts";
import type { SharedTopic } from "../bus.ts";
import { openQueue, type QueueOptions } from "./rabbitmq-queues.ts";
import { recallKeyed } from "./rabbitmq-recall.ts";

/** Bounds what an instance that is held back keeps in memory: so many of the largest messages. */
const prefetch = 256;

export interface ConsumerOptions extends QueueOptions {
  /** Whether the broker keeps messages with an idempotency key for instances that start later. */
  keepsKeyed: boolean;
}

export interface Consumption {
  /** Messages that had been waiting in the queues. */
  backlog: Backlog;
  channels: Channel[];
}

/** `doubts` are topics whose queue was missing; they outlive a session that ends before its queue is bound. */
export async function consumeAll(
  connection: Connection,
  options: ConsumerOptions,
  link: BrokerLink,
  doubts: Set<SharedTopic>,
): Promise<Consumption> {
  const backlog = new Backlog();
  const channels: Channel[] = [];
  for (const topic of link.topics)
    channels.push(await consume(connection, topic, options, link, doubts, backlog));
  return { backlog, channels };
}

async function consume(
  connection: Connection,
  topic: SharedTopic,
  options: ConsumerOptions,
  link: BrokerLink,
  doubts: Set<SharedTopic>,
  backlog: Backlog,
): Promise<Channel> {
  const channel = await connection.acquire();
  const opened = await openQueue(connection, channel, topic, options, () => doubts.add(topic));
  if (doubts.delete(topic) || opened.hasDropped) link.lost(topic);
  const order = options.keepsKeyed ? link.recall(topic) : null;
  if (order) await recallKeyed(connection, options.prefix, order, link.signal);
  const queue = opened.name;
  await channel.basicQos({ prefetchCount: prefetch });
  backlog.expect(opened.messageCount);
  const turn = new Turn(channel, async (messages) => {
    const records = messages.map(({ body, messageId }) => ({ body, id: messageId }));
    const handling = link.receive(topic, records);
    if (handling) await handling;
    backlog.arrived(messages.length);
  });
  // Exclusive: two instances under one id would each get half of the messages; the second is refused instead.
  await channel
    .basicConsume({ queue, exclusive: true }, (message) => turn.add(message))
    .catch((cause: unknown) => {
      const isTaken = cause instanceof AMQPError && cause.code === "ACCESS_REFUSED";
      if (!isTaken) throw cause;
      throw new Error(
        `another instance consumes from the queue ${queue}: give each its own push.queue.instance-id`,
      );
    });
  await channel.basicQos({ prefetchCount: 1 });
  await channel.basicConsume({ queue: opened.droppedName }, ({ deliveryTag }) => {
    link.lost(topic);
    if (channel.active) channel.basicAck({ deliveryTag });
  });
  channel.on("basic.cancel", () => link.broken(new Error(`the queue ${queue} was deleted`)));
  channel.on("close", () =>
    queueMicrotask(() => link.broken(new Error(`the channel of ${queue} was closed`))),
  );
  return channel;
}

/**
 * Collects what one read from the socket brought, hands it over in one call and acknowledges it in one frame. While
 * that takes its time the next turn collects, up to the prefetch limit.
 */
class Turn {
  readonly #channel: Channel;
  readonly #handOver: (messages: AsyncMessage[]) => Promise<void>;
  #messages: AsyncMessage[] = [];
  #isBusy = false;

  constructor(channel: Channel, handOver: (messages: AsyncMessage[]) => Promise<void>) {
    this.#channel = channel;
    this.#handOver = handOver;
  }

  add(message: AsyncMessage): void {
    this.#messages.push(message);
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    // Of a channel that is gone nothing can be acknowledged: the broker delivers these again.
    while (this.#messages.length > 0 && this.#channel.active) {
      const messages = this.#messages;
      this.#messages = [];
      await this.#handOver(messages);
      const last = messages.at(-1);
      if (last && this.#channel.active) {
        this.#channel.basicAck({ deliveryTag: last.deliveryTag, multiple: true });
      }
    }
    this.#isBusy = false;
  }
}

/** Messages that waited while this instance was away: it is ready only after they have been handed over. */
export class Backlog {
  #count = 0;
  #onEmpty: (() => void) | undefined;

  get count(): number {
    return this.#count;
  }

  expect(count: number): void {
    this.#count += count;
  }

  arrived(count: number): void {
    if (this.#count === 0) return;
    this.#count = Math.max(0, this.#count - count);
    if (this.#count === 0) this.#onEmpty?.();
  }

  onEmpty(listener: () => void): void {
    this.#onEmpty = listener;
  }
}
