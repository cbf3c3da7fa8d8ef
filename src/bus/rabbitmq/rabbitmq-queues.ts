import { AMQPError, type Channel, type Connection } from "rabbitmq-client";
import type { SharedTopic } from "../bus.ts";

/** A queue outlives its instance this long, so that a restart or a lost connection loses nothing. */
const queueExpiresMs = 10 * 60_000;
/** An instance that hangs must not fill the broker: its oldest messages go first. */
const queueMaxLength = 100_000;
const queueMaxBytes = 256 * 1024 * 1024;

export interface QueueOptions {
  prefix: string;
  instanceId: string;
  isDurable: boolean;
}

/** The queue of an instance, and the one beside it where RabbitMQ lays down what it threw out of the first. */
export interface InstanceQueue {
  name: string;
  droppedName: string;
  messageCount: number;
  /** Something was thrown out since that was last looked at. */
  hasDropped: boolean;
}

/**
 * Declares what is missing, which is told first, and binds it. A queue that is there is taken as it is: to declare it
 * all the same would hide that it had to be made anew.
 */
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
  const lifeOf = (queue: string) =>
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
  // One message is enough to know; a newer one takes its place.
  const dropped = await ensure({
    ...lifeOf(`${droppedExchange}.${topic}.${options.instanceId}`),
    arguments: { ...expires, "x-max-length": 1 },
  });
  const own = await ensure({
    ...lifeOf(`${exchange}.${options.instanceId}`),
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

/** Undefined: there is no such queue. The question costs its channel then, so that it has one of its own. */
async function messagesIn(connection: Connection, queue: string): Promise<number | undefined> {
  const probe = await connection.acquire({ emitErrorsFromChannel: true });
  const found = await probe.queueDeclare({ queue, passive: true }).catch((cause: unknown) => {
    if (cause instanceof AMQPError && cause.code === "NOT_FOUND") return undefined;
    throw cause;
  });
  if (found) await probe.close();
  return found?.messageCount;
}
