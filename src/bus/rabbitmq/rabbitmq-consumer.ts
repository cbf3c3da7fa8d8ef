import { AMQPError, type AsyncMessage, type Channel, type Connection } from "rabbitmq-client";
import type { BrokerLink } from "../broker-bus.ts";
import type { SharedTopic } from "../bus.ts";
import { isProbe, type Probes } from "./rabbitmq-probes.ts";
import { openQueue, type QueueOptions } from "./rabbitmq-queues.ts";
import { recallKeyed } from "./rabbitmq-recall.ts";

/** Bounds the memory of an instance that handles messages slowly. */
const prefetch = 256;

export interface ConsumerOptions extends QueueOptions {
  /** Whether the broker keeps messages with an idempotency key for instances that start later. */
  keepsKeyed: boolean;
}

export interface Consumption {
  queuedAtStart: QueuedAtStart;
  consumers: TopicConsumer[];
}

export interface TopicConsumer {
  topic: SharedTopic;
  channel: Channel;
  /** Whether all messages of the queue have arrived here and are handled. */
  isIdle(): Promise<boolean>;
}

/** `possibleLosses`: topics whose queue was missing or not bound; kept across sessions, because one may end before it binds. */
export async function consumeAll(
  connection: Connection,
  options: ConsumerOptions,
  link: BrokerLink,
  possibleLosses: Set<SharedTopic>,
  probes: Pick<Probes, "receive">,
): Promise<Consumption> {
  const queuedAtStart = new QueuedAtStart();
  const consumers: TopicConsumer[] = [];
  for (const topic of link.topics)
    consumers.push(await consume(connection, topic, options, link, possibleLosses, probes, queuedAtStart));
  return { queuedAtStart, consumers };
}

async function consume(
  connection: Connection,
  topic: SharedTopic,
  options: ConsumerOptions,
  link: BrokerLink,
  possibleLosses: Set<SharedTopic>,
  probes: Pick<Probes, "receive">,
  queuedAtStart: QueuedAtStart,
): Promise<TopicConsumer> {
  const channel = await connection.acquire();
  const opened = await openQueue(connection, channel, topic, options, () => possibleLosses.add(topic));
  if (possibleLosses.delete(topic) || opened.hasDropped) link.reportLoss(topic);
  const request = options.keepsKeyed ? link.recallRequest(topic) : null;
  if (request) await recallKeyed(connection, options.prefix, request, link.signal);
  const queue = opened.name;
  await channel.basicQos({ prefetchCount: prefetch });
  queuedAtStart.expect(opened.messageCount);
  const batcher = new Batcher(channel, async (messages) => {
    const records = messages
      .filter((message) => !isProbe(message))
      .map(({ body, messageId }) => ({ body, id: messageId }));
    const handling = link.receive(topic, records);
    if (handling) await handling;
    queuedAtStart.handled(messages.length);
  });
  // Before consuming, because the queue may be deleted before the next answer of the broker.
  channel.on("basic.cancel", () => link.broken(new Error(`the queue ${queue} was deleted`)));
  // Exclusive: two instances with one id would each get half of the messages, so the second is refused.
  await channel
    .basicConsume({ queue, exclusive: true }, (message) => {
      probes.receive(message);
      batcher.add(message);
    })
    .catch((cause: unknown) => {
      const isTaken = cause instanceof AMQPError && cause.code === "ACCESS_REFUSED";
      if (!isTaken) throw cause;
      throw new Error(
        `another instance consumes from the queue ${queue}: give each its own push.queue.instance-id`,
      );
    });
  await channel.basicQos({ prefetchCount: 1 });
  await channel.basicConsume({ queue: opened.droppedName }, ({ deliveryTag }) => {
    link.reportLoss(topic);
    if (channel.active) channel.basicAck({ deliveryTag });
  });
  channel.on("close", () =>
    queueMicrotask(() => link.broken(new Error(`the channel of ${queue} was closed`))),
  );
  return {
    topic,
    channel,
    async isIdle() {
      const countWaiting = async () => (await channel.queueDeclare({ queue, passive: true })).messageCount;
      if ((await countWaiting()) > 0) return false;
      // The last messages have left the queue; the answer to another request follows them on the channel.
      if ((await countWaiting()) > 0) return false;
      // The library hands a message to its callback one turn after it arrived.
      await new Promise((resolve) => setImmediate(resolve));
      return batcher.isIdle;
    },
  };
}

/**
 * Collects the messages of one read from the socket, handles them in one call and acknowledges them in one frame. Up to
 * the prefetch limit, messages that arrive meanwhile form the next batch.
 */
class Batcher {
  readonly #channel: Channel;
  readonly #handle: (messages: AsyncMessage[]) => Promise<void>;
  #messages: AsyncMessage[] = [];
  #isBusy = false;

  constructor(channel: Channel, handle: (messages: AsyncMessage[]) => Promise<void>) {
    this.#channel = channel;
    this.#handle = handle;
  }

  get isIdle(): boolean {
    return !this.#isBusy;
  }

  add(message: AsyncMessage): void {
    this.#messages.push(message);
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    // On a closed channel nothing can be acknowledged; the broker delivers these messages again.
    while (this.#messages.length > 0 && this.#channel.active) {
      const messages = this.#messages;
      this.#messages = [];
      await this.#handle(messages);
      const last = messages.at(-1);
      if (last && this.#channel.active) {
        this.#channel.basicAck({ deliveryTag: last.deliveryTag, multiple: true });
      }
    }
    this.#isBusy = false;
  }
}

/** Counts the messages that were in the queues before consuming began; the instance is ready after they are handled. */
export class QueuedAtStart {
  #count = 0;
  #onEmpty: (() => void) | undefined;

  get count(): number {
    return this.#count;
  }

  expect(count: number): void {
    this.#count += count;
  }

  handled(count: number): void {
    if (this.#count === 0) return;
    this.#count = Math.max(0, this.#count - count);
    if (this.#count === 0) this.#onEmpty?.();
  }

  onEmpty(listener: () => void): void {
    this.#onEmpty = listener;
  }
}
