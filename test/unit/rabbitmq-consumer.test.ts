import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { AsyncMessage, Connection } from "rabbitmq-client";
import type { BrokerLink } from "../../src/bus/broker-bus.ts";
import { consumeAll } from "../../src/bus/rabbitmq/rabbitmq-consumer.ts";

class FakeChannel extends EventEmitter {
  active = true;
  async exchangeDeclare() {}
  async queueDeclare({ queue }: { queue: string }) {
    return { queue, messageCount: 0 };
  }
  async queueBind() {}
  async basicQos() {}
  async basicConsume(_options: { exclusive?: boolean }, _take: (message: AsyncMessage) => void) {}
  basicAck() {}
  async close() {}
}

/** Deletes the queue of the instance as soon as it is consumed. */
class DeletingChannel extends FakeChannel {
  override async basicConsume({ exclusive }: { exclusive?: boolean }) {
    if (exclusive) this.emit("basic.cancel", "tag", new Error("cancelled"));
  }
}

/** After `isLate` is set, a message that has left the queue arrives after the first answer and before the next. */
class LateChannel extends FakeChannel {
  isLate = false;
  #arrival: Promise<void> | undefined;
  #take: (message: AsyncMessage) => void = () => {};
  override async queueDeclare({ queue }: { queue: string }) {
    const arrival = this.#arrival;
    if (arrival) await arrival;
    else if (this.isLate) this.#arrival = this.#deliver();
    return { queue, messageCount: 0 };
  }
  override async basicConsume({ exclusive }: { exclusive?: boolean }, take: (message: AsyncMessage) => void) {
    if (exclusive) this.#take = take;
  }
  async #deliver() {
    await Bun.sleep(20);
    this.#take({ deliveryTag: 1, messageId: "late", body: {} } as AsyncMessage);
  }
}

async function consume(channel: FakeChannel, more: Partial<BrokerLink>) {
  const link = {
    topics: ["broadcast"],
    reportLoss() {},
    recallRequest: () => null,
    ...more,
  } as unknown as BrokerLink;
  const connection = { acquire: async () => channel } as unknown as Connection;
  const options = { prefix: "p", instanceId: "one", isDurable: true, keepsKeyed: false };
  return await consumeAll(connection, options, link, new Set(), { receive() {} });
}

test("a queue that is deleted before the session is open ends the session", async () => {
  const reasons: unknown[] = [];
  await consume(new DeletingChannel(), { broken: (reason: unknown) => reasons.push(reason) });
  expect(reasons.map(String)).toEqual(["Error: the queue p.broadcast.one was deleted"]);
});

test("a consumer is not idle while a message that has left the queue is on its way", async () => {
  const channel = new LateChannel();
  const handled = Promise.withResolvers<void>();
  const { consumers } = await consume(channel, { receive: () => handled.promise });
  channel.isLate = true;
  expect(await consumers[0]?.isIdle()).toBe(false);
  handled.resolve();
  await Bun.sleep(0);
  expect(await consumers[0]?.isIdle()).toBe(true);
});
