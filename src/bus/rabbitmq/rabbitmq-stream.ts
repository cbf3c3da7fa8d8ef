import { AMQPError, type AsyncMessage, type Channel, type Connection } from "rabbitmq-client";
import type { BrokerLink } from "../broker-bus.ts";
import type { BrokerLog } from "../broker-log.ts";
import { declareExchange } from "./rabbitmq-publisher.ts";

export interface StreamOptions {
  prefix: string;
  isDurable: boolean;
  /** Asked when RabbitMQ does not know streams. */
  serverVersion(): Promise<string>;
}

/** Bounds the memory of an instance that handles records slowly. */
const prefetch = 500;
/** The last record of the session before must arrive within this time. */
const repeatsWithinMs = 3_000;
const boundsEveryMs = 60_000;
/** More than the keys and the positions of clients need, so that an instance that was away continues without a loss. */
const maxAge = { durable: "1h", transient: "10m" };
const maxBytes = 1024 * 1024 * 1024;
/** RabbitMQ deletes whole segments only. */
const segmentBytes = 8 * 1024 * 1024;

/**
 * A stream with the name of its exchange. `readStream` binds it. An existing stream is used as it is: its arguments may be those of
 * an operator or of another version.
 */
export async function declareStream(
  connection: Connection,
  { name }: BrokerLog,
  { prefix, isDurable, serverVersion }: StreamOptions,
): Promise<void> {
  const queue = `${prefix}.${name}`;
  const declaring = await connection.acquire({ emitErrorsFromChannel: true });
  declaring.on("error", () => {});
  await declareExchange(declaring, prefix, name);
  await declaring
    .queueDeclare({
      queue,
      durable: true,
      arguments: {
        "x-queue-type": "stream",
        "x-max-age": isDurable ? maxAge.durable : maxAge.transient,
        "x-max-length-bytes": maxBytes,
        "x-stream-max-segment-size-bytes": segmentBytes,
      },
    })
    .catch(async (cause: unknown) => {
      if (!(cause instanceof AMQPError) || cause.code !== "PRECONDITION_FAILED") throw cause;
      if (cause.message.includes("inequivalent arg")) return;
      const version = await serverVersion();
      throw new Error(`RabbitMQ ${version} has no streams: Slipway needs version 3.9 or later`, { cause });
    });
  // A refused declaration has closed the channel.
  if (declaring.active) await declaring.close();
}

/** Reads a stream from where the last session stopped. */
export async function readStream(
  connection: Connection,
  log: BrokerLog,
  queue: string,
  link: BrokerLink,
): Promise<void> {
  const start = await log.begin();
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on("error", () => {});
  channel.on("basic.cancel", () => link.broken(new Error(`the stream ${queue} was deleted`)));
  await channel.basicQos({ prefetchCount: prefetch });
  const batches = new Batches(channel, async (messages) => {
    if (link.signal.aborted) return;
    try {
      const records = messages.map((message) => ({ offset: offsetOf(message), body: message.body }));
      log.noteBounds({ latest: records.at(-1)?.offset ?? -1 });
      await log.receive(records);
    } catch (cause) {
      link.broken(cause);
    }
  });
  const offset = "offset" in start ? start.offset : `${Math.ceil(start.ageMs / 1000)}s`;
  await consume(channel, queue, offset, (message) => batches.add(message));
  // Not before it is known to be a stream: a queue that nobody reads would fill.
  await channel.queueBind({ queue, exchange: queue });
  channel.on("close", () =>
    queueMicrotask(() => link.broken(new Error(`the channel of ${queue} was closed`))),
  );
  const noteOldest = async () => {
    const oldest = await offsetAt(connection, queue, "first");
    if (oldest !== undefined) log.noteBounds({ oldest });
  };
  const onFailure = (cause: unknown) => link.broken(cause);
  void noteOldest().catch(onFailure);
  const timers = [setInterval(() => void noteOldest().catch(onFailure), boundsEveryMs)];
  if ("offset" in start) {
    const check = () => void requireRepeat(connection, log, queue, start.offset, link).catch(onFailure);
    timers.push(setTimeout(check, repeatsWithinMs));
  }
  link.signal.addEventListener("abort", () => timers.forEach(clearTimeout), { once: true });
}

/** RabbitMQ delivers nothing, without an error, from an offset that a stream does not have yet. */
async function requireRepeat(
  connection: Connection,
  log: BrokerLog,
  queue: string,
  offset: number,
  link: BrokerLink,
): Promise<void> {
  if (!log.awaitsRepeat || link.signal.aborted) return;
  const latest = await offsetAt(connection, queue, "last");
  if (!log.awaitsRepeat || link.signal.aborted) return;
  const isSlow = latest !== undefined && latest >= offset;
  link.broken(isSlow ? new Error(`the stream ${queue} was not delivered in time`) : log.createdAgain());
}

async function consume(
  channel: Channel,
  queue: string,
  offset: string | number,
  receive: (message: AsyncMessage) => void,
): Promise<void> {
  try {
    await channel.basicConsume({ queue, arguments: { "x-stream-offset": offset } }, receive);
  } catch (cause) {
    // Only streams know this argument.
    if (!(cause instanceof AMQPError) || !cause.message.includes("x-stream-offset")) throw cause;
    throw notStream(queue, cause);
  }
}

function notStream(queue: string, cause?: unknown): Error {
  return new Error(
    `the queue ${queue} is not a stream: remove it with \`rabbitmqctl delete_queue ${queue}\`, or set push.queue.prefix to another name`,
    { cause },
  );
}

function offsetOf({ headers, routingKey }: AsyncMessage): number {
  const offset = headers?.["x-stream-offset"];
  if (typeof offset !== "number") throw notStream(routingKey);
  return offset;
}

/** The first or the last offset of a stream; undefined: it is empty. */
async function offsetAt(
  connection: Connection,
  queue: string,
  end: "first" | "last",
): Promise<number | undefined> {
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on("error", () => {});
  const offsets: number[] = [];
  // RabbitMQ starts at the last group of records that it stored together.
  await channel.basicQos({ prefetchCount: end === "first" ? 1 : 65_535 });
  await consume(channel, queue, end, (message) => offsets.push(offsetOf(message)));
  // The answer to another request follows the records on the channel; the library passes them on one turn later.
  await channel.queueDeclare({ queue, passive: true });
  await new Promise((resolve) => setImmediate(resolve));
  await channel.close();
  return end === "first" ? offsets[0] : offsets.at(-1);
}

/**
 * Collects the messages of one read from the socket, handles them in one call and acknowledges them in one frame. Up to
 * the prefetch limit, messages that arrive meanwhile form the next batch.
 */
class Batches {
  readonly #channel: Channel;
  readonly #handle: (messages: AsyncMessage[]) => Promise<void>;
  #messages: AsyncMessage[] = [];
  #isBusy = false;

  constructor(channel: Channel, handle: (messages: AsyncMessage[]) => Promise<void>) {
    this.#channel = channel;
    this.#handle = handle;
  }

  add(message: AsyncMessage): void {
    this.#messages.push(message);
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#messages.length > 0 && this.#channel.active) {
      const messages = this.#messages;
      this.#messages = [];
      await this.#handle(messages);
      const last = messages.at(-1);
      if (last && this.#channel.active)
        this.#channel.basicAck({ deliveryTag: last.deliveryTag, multiple: true });
    }
    this.#isBusy = false;
  }
}
