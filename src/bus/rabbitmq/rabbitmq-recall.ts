import { AMQPError, type AsyncMessage, type Channel, type Connection } from "rabbitmq-client";
import { pause } from "../../clock.ts";
import type { BrokerLink, RecallRequest } from "../broker-bus.ts";

/** Header of messages with an idempotency key; the broker keeps a copy of messages with this header. */
export const keyedHeaders = { idempotent: true };

/** The documented five minutes, plus a margin for clock differences between instances. */
const keptMs = 6 * 60_000;
const maxLength = 1_000_000;
const maxBytes = 256 * 1024 * 1024;
/** Pause before another attempt while another instance reads the queue exclusively. */
const waitForTurnMs = 100;
const waitForRestMs = 5;
const partSize = 1_000;

/** A permission is missing, or an operator declared the queue with different arguments. */
const refusals = new Set(["ACCESS_REFUSED", "PRECONDITION_FAILED"]);

const queueOf = (prefix: string) => `${prefix}.keyed`;

/**
 * The broker keeps messages with a key for some minutes, so that an instance that starts can load them even if it is the
 * only instance or lost its disk. The broker routes message and copy together, so that neither exists without the other.
 * Returns false if the broker refuses the declaration: then an instance starts without earlier keys.
 */
export async function declareKeyedQueue(
  connection: Connection,
  prefix: string,
  link: Pick<BrokerLink, "recallRefused">,
): Promise<boolean> {
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on("error", () => {});
  try {
    await declare(channel, prefix);
    await channel.close();
    return true;
  } catch (cause) {
    if (!(cause instanceof AMQPError) || !refusals.has(cause.code)) throw cause;
    link.recallRefused(cause);
    return false;
  }
}

async function declare(channel: Channel, prefix: string): Promise<void> {
  const queue = queueOf(prefix);
  await channel.exchangeDeclare({ exchange: queue, type: "headers", durable: true });
  await channel.exchangeBind({ source: `${prefix}.broadcast`, destination: queue });
  await channel.queueDeclare({
    queue,
    durable: true,
    arguments: {
      // Classic queues requeue unacknowledged messages in place; other queue types count redeliveries and drop messages.
      "x-queue-type": "classic",
      "x-message-ttl": keptMs,
      "x-max-length": maxLength,
      "x-max-length-bytes": maxBytes,
      "x-overflow": "drop-head",
    },
  });
  await channel.queueBind({ queue, exchange: queue, arguments: { "x-match": "all", ...keyedHeaders } });
}

/** Reads the queue without removing anything: unacknowledged messages return when the channel is closed. */
export async function recallKeyed(
  connection: Connection,
  prefix: string,
  request: RecallRequest,
  signal: AbortSignal,
): Promise<void> {
  while (!(await readAll(connection, queueOf(prefix), request, signal))) {
    request.take([]);
    await pause(waitForTurnMs, signal);
    if (signal.aborted) throw signal.reason;
  }
  request.end();
}

/**
 * False when another instance is reading the queue. What the queue has is counted only after this instance has become its
 * reader: messages that another reader has not given back yet do not count, and a slow broker sends late.
 */
async function readAll(
  connection: Connection,
  queue: string,
  request: RecallRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on("error", () => {});
  let part: AsyncMessage[] = [];
  const passOn = () => {
    request.take(part.map(({ body, messageId }) => ({ body, id: messageId })));
    part = [];
  };
  try {
    await channel.basicConsume({ queue, exclusive: true }, (message) => {
      part.push(message);
      if (part.length >= partSize) passOn();
    });
  } catch (cause) {
    if (cause instanceof AMQPError && cause.code === "ACCESS_REFUSED") return false;
    throw cause;
  }
  const countWaiting = async () => (await channel.queueDeclare({ queue, passive: true })).messageCount;
  while ((await countWaiting()) > 0) {
    passOn();
    await pause(waitForRestMs, signal);
    if (signal.aborted) throw signal.reason;
  }
  // The last messages have left the queue; the answer to another request follows them on the channel.
  await countWaiting();
  // The library hands a message to its callback one turn after it arrived.
  await new Promise((resolve) => setImmediate(resolve));
  passOn();
  await channel.close();
  return true;
}
