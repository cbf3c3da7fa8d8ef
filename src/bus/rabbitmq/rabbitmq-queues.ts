import { AMQPError, type Channel, type Connection } from "rabbitmq-client";
import type { SharedTopic } from "../bus.ts";

/** A queue without consumer is kept this long, so that a restart or a lost connection loses no message. */
const queueExpiresMs = 10 * 60_000;
/** An instance that hangs must not fill the broker; the oldest messages are dropped first. */
const queueMaxLength = 100_000;
const queueMaxBytes = 256 * 1024 * 1024;

export interface QueueOptions {
  prefix: string;
  instanceId: string;
  isDurable: boolean;
}

/** The queue of an instance, and its dead-letter queue for messages that RabbitMQ dropped from it. */
export interface InstanceQueue {
  name: string;
  droppedName: string;
  messageCount: number;
  /** Messages were dropped since the last session. */
  hasDropped: boolean;
}

/** Declares and binds the queues. `onMissing` is called before a missing queue is declared, because messages may be lost. */
export async function openQueue(
  connection: Connection,
  channel: Channel,
  topic: SharedTopic,
  options: QueueOptions,
  onMissing: () => void,
): Promise<InstanceQueue> {
  const exchange = `${options.prefix}.${topic}`;
  const droppedExchange = `${options.prefix}.dropped`;
  await channel.exchangeDeclare({ exchange: droppedExchange, type: "direct", durable: true });
  const nameAndLifetime = (queue: string) =>
    options.isDurable ? { queue, durable: true } : { queue: "", exclusive: true };
  const expires = options.isDurable ? { "x-expires": queueExpiresMs } : {};
  const ensure = async (declaration: Declaration) => {
    const { queue: name = "" } = declaration;
    const messageCount = name === "" ? undefined : await messagesIn(connection, name);
    if (messageCount !== undefined) return { name, messageCount };
    onMissing();
    const declared = await channel.queueDeclare(declaration);
    return { name: declared.queue, messageCount: declared.messageCount };
  };
  // One message is enough to detect drops; a newer one replaces it.
  const dropped = await ensure({
    ...nameAndLifetime(`${droppedExchange}.${topic}.${options.instanceId}`),
    arguments: { ...expires, "x-max-length": 1 },
  });
  const own = await ensure({
    ...nameAndLifetime(`${exchange}.${options.instanceId}`),
    arguments: {
      ...expires,
      "x-max-length": queueMaxLength,
      "x-max-length-bytes": queueMaxBytes,
      "x-overflow": "drop-head",
      "x-dead-letter-exchange": droppedExchange,
      "x-dead-letter-routing-key": dropped.name,
    },
  });
  await channel.queueBind({ queue: dropped.name, exchange: droppedExchange, routingKey: dropped.name });
  await channel.queueBind({ queue: own.name, exchange });
  return {
    name: own.name,
    droppedName: dropped.name,
    messageCount: own.messageCount,
    hasDropped: dropped.messageCount > 0,
  };
}

type Declaration = Exclude<Parameters<Channel["queueDeclare"]>[0], string | undefined>;

/** Undefined: the queue does not exist. RabbitMQ then closes the channel, so the check has its own. */
async function messagesIn(connection: Connection, queue: string): Promise<number | undefined> {
  const probe = await connection.acquire({ emitErrorsFromChannel: true });
  const found = await probe.queueDeclare({ queue, passive: true }).catch((cause: unknown) => {
    if (cause instanceof AMQPError && cause.code === "NOT_FOUND") return undefined;
    throw cause;
  });
  if (found) await probe.close();
  return found?.messageCount;
}
