import { AMQPError, type AsyncMessage, type Channel, type Connection } from "rabbitmq-client";
import { pause } from "../clock.ts";
import type { BrokerLink, RecallOrder } from "./broker-bus.ts";

/** Marks messages with an idempotency key, by which the broker keeps a copy of them. */
export const keyedHeaders = { idempotent: true };

/** As long as the keys are promised to be known, and some time for instances whose clocks differ. */
const keptMs = 6 * 60_000;
const maxLength = 1_000_000;
const maxBytes = 256 * 1024 * 1024;
/** Another instance reads it: it has the queue for itself, for as long as it takes. */
const waitForTurnMs = 100;
/** Copies that expire while they are counted never come. */
const silenceMs = 1_000;
const partSize = 1_000;

/** A right is missing, or an operator has declared it with arguments of another kind. */
const refusals = new Set(["ACCESS_REFUSED", "PRECONDITION_FAILED"]);

const queueOf = (prefix: string) => `${prefix}.keyed`;

/**
 * The broker itself keeps the last minutes of messages with a key, so that an instance that starts knows them also when
 * it is the only one, or lost its disk. The copy is made with the message, so that neither is there without the other.
 * False where the broker does not let us: then an instance that starts knows no keys, and works all the same.
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
      // Those that are read come back to their place; other kinds of queue count that and drop them in the end.
      "x-queue-type": "classic",
      "x-message-ttl": keptMs,
      "x-max-length": maxLength,
      "x-max-length-bytes": maxBytes,
      "x-overflow": "drop-head",
    },
  });
  await channel.queueBind({ queue, exchange: queue, arguments: { "x-match": "all", ...keyedHeaders } });
}

/** Reads what the queue holds and leaves it there: what is not acknowledged returns when the channel is closed. */
export async function recallKeyed(
  connection: Connection,
  prefix: string,
  order: RecallOrder,
  signal: AbortSignal,
): Promise<void> {
  while (!(await readAll(connection, queueOf(prefix), order))) {
    order.take([]);
    await pause(waitForTurnMs, signal);
    if (signal.aborted) throw signal.reason;
  }
  order.end();
}

/** False when another instance reads it. */
async function readAll(connection: Connection, queue: string, order: RecallOrder): Promise<boolean> {
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on("error", () => {});
  const { messageCount } = await channel.queueDeclare({ queue, passive: true });
  const copies = new Copies(messageCount, order);
  try {
    await channel.basicConsume({ queue, exclusive: true }, (message) => copies.add(message));
  } catch (cause) {
    if (cause instanceof AMQPError && cause.code === "ACCESS_REFUSED") return false;
    throw cause;
  }
  await copies.complete();
  await channel.close();
  return true;
}

/** Collects copies until the expected number has come, or none for a while. */
class Copies {
  readonly #order: RecallOrder;
  readonly #completed = Promise.withResolvers<void>();
  #missing: number;
  #part: AsyncMessage[] = [];
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(expected: number, order: RecallOrder) {
    this.#missing = expected;
    this.#order = order;
  }

  add(message: AsyncMessage): void {
    this.#part.push(message);
    this.#missing -= 1;
    this.#silence?.refresh();
    if (this.#part.length >= partSize) this.#handOver();
    if (this.#missing <= 0) this.#completed.resolve();
  }

  async complete(): Promise<void> {
    if (this.#missing > 0) {
      this.#silence = setTimeout(() => this.#completed.resolve(), silenceMs);
      await this.#completed.promise;
      clearTimeout(this.#silence);
    }
    this.#handOver();
  }

  #handOver(): void {
    this.#order.take(this.#part.map(({ body, messageId }) => ({ body, id: messageId })));
    this.#part = [];
  }
}
