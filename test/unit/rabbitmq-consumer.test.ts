import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Connection } from "rabbitmq-client";
import type { BrokerLink } from "../../src/bus/broker-bus.ts";
import { consumeAll } from "../../src/bus/rabbitmq/rabbitmq-consumer.ts";

/** Deletes the queue of the instance as soon as it is consumed. */
class FakeChannel extends EventEmitter {
  active = true;
  async exchangeDeclare() {}
  async queueDeclare({ queue }: { queue: string }) {
    return { queue, messageCount: 0 };
  }
  async queueBind() {}
  async basicQos() {}
  async basicConsume({ exclusive }: { exclusive?: boolean }) {
    if (exclusive) this.emit("basic.cancel", "tag", new Error("cancelled"));
  }
  async close() {}
}

test("a queue that is deleted before the session is open ends the session", async () => {
  const reasons: unknown[] = [];
  const link = {
    topics: ["broadcast"],
    broken: (reason: unknown) => reasons.push(reason),
    reportLoss() {},
    recallRequest: () => null,
  } as unknown as BrokerLink;
  const connection = { acquire: async () => new FakeChannel() } as unknown as Connection;
  await consumeAll(
    connection,
    { prefix: "p", instanceId: "one", isDurable: true, keepsKeyed: false },
    link,
    new Set(),
    { receive() {} },
  );
  expect(reasons.map(String)).toEqual(["Error: the queue p.broadcast.one was deleted"]);
});
