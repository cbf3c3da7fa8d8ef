import { describe, expect, test } from "bun:test";
import { Admin } from "@platformatic/kafka";
import { connectTo, freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");

/** A gateway that no client has sent anything to. */
async function startWith(url: string, prefix: string, queuesClientMessages = true) {
  const push = await startPushApp({
    "push.accept-client-message": true,
    "push.queue-client-messages": queuesClientMessages,
    "push.cluster-enabled": true,
    "push.queue.url": url,
    "push.queue.prefix": prefix,
  });
  await eventually("the gateway is ready", async () => (await push.get("/readyz")).status === 200);
  return push;
}

describe.if(amqpUrl !== undefined)("RabbitMQ", () => {
  const url = amqpUrl ?? "";
  const exists = async (queue: string) => {
    const connection = connectTo(url);
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    channel.on("error", () => {});
    const found = await channel.queueDeclare({ queue, passive: true }).then(
      () => true,
      () => false,
    );
    connection.unsafeDestroy();
    return found;
  };

  test("the queue of client messages exists before the first one, so that readers can start", async () => {
    const prefix = freshPrefix();
    const push = await startWith(url, prefix);
    expect(await exists(`${prefix}.client`)).toBe(true);
    await push.stop();
    const connection = connectTo(url);
    await connection.queueDelete(`${prefix}.client`);
    await connection.close();
  });

  test("a queue that was declared before with other arguments is used as it is", async () => {
    const prefix = freshPrefix();
    const queue = `${prefix}.client`;
    const connection = connectTo(url);
    await connection.queueDeclare({ queue, durable: true, arguments: { "x-max-length": 1000 } });
    const push = await startWith(url, prefix);
    const client = await PushClient.open(`${push.wsUrl}?code=ann`);
    client.send("hello");
    await eventually("it is in the queue", async () => {
      const message = await connection.basicGet({ queue, noAck: true });
      return message?.body.data === "hello";
    });
    client.close();
    await push.stop();
    await connection.queueDelete(queue);
    await connection.close();
  });

  test("it is not made where client messages are not queued", async () => {
    const prefix = freshPrefix();
    const push = await startWith(url, prefix, false);
    expect(await exists(`${prefix}.client`)).toBe(false);
    await push.stop();
  });
});

describe.if(kafkaUrl !== undefined)("Kafka", () => {
  test("the topics for other services exist before the first message", async () => {
    const prefix = freshPrefix();
    const push = await startWith(kafkaUrl ?? "", prefix);
    const admin = new Admin({
      clientId: "test",
      bootstrapBrokers: [(kafkaUrl ?? "").slice("kafka://".length)],
    });
    const wanted = [`${prefix}.client`, `${prefix}.events`];
    await eventually(
      "both exist",
      async () => {
        const topics = await admin.listTopics();
        return wanted.every((name) => topics.includes(name));
      },
      10_000,
    );
    await admin.close();
    await push.stop();
  });
});
