import { afterEach, describe, expect, test } from "bun:test";
import {
  type BrokerUnderTest,
  connectTo,
  freshPrefix,
  kafkaUnderTest,
  rabbitmqUnderTest,
} from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function startPair(broker: BrokerUnderTest) {
  const prefix = freshPrefix();
  const start = async (instanceId: string) => {
    const app = await startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": broker.url,
      "push.queue.prefix": prefix,
      "push.queue.instance-id": instanceId,
    });
    stops.push(() => app.stop());
    await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
    return app;
  };
  const [one, two] = await Promise.all([start("one"), start("two")]);
  // A resume is complete only if the messages before the resumed id, within the overlap, were received too.
  await Bun.sleep(4_000);
  const write = (message: object) =>
    broker.write(prefix, "broadcast", "user:anna", [JSON.stringify({ ...toAnna, ...message })]);
  return { prefix, one, two, write };
}

const toAnna = { targetType: "user", target: "anna" };

async function connect(app: PushApp, query = ""): Promise<PushClient> {
  const client = await PushClient.open(`${app.wsUrl}?code=anna${query}`, ["slipway.v1"]);
  stops.push(() => client.close());
  await client.receivedType("welcome");
  return client;
}

/** The client receives one message on the first instance, misses the next, and resumes on the second. */
async function resumesElsewhere(one: PushApp, two: PushApp, write: (data: string) => Promise<void>) {
  const client = await connect(one);
  await write("heard");
  const [heard] = await client.receivedType("message");
  client.close();
  await client.ended();
  await write("missed");
  await eventually("both have it", async () => (await two.metric("slipway_push_resume_messages")) >= 2);
  const resumed = await connect(two, `&resume=${encodeURIComponent(String(heard?.id))}`);
  expect(resumed.ofType("welcome")[0]?.recovered).toBe(true);
  await eventually("what was missed arrives", () => resumed.messages.includes("missed"));
}

const brokers = [
  ...(amqpUrl === undefined ? [] : [rabbitmqUnderTest(amqpUrl)]),
  ...(kafkaUrl === undefined ? [] : [kafkaUnderTest(kafkaUrl)]),
];

describe.each(brokers)("a message that another service writes to $name", (broker) => {
  test("has its own id on every instance, and its own idempotency key", async () => {
    const { one, two, write } = await startPair(broker);
    await resumesElsewhere(one, two, (data) => write({ id: `order-${data}`, data }));
    const clients = [await connect(one), await connect(two)];
    await write({ idempotencyKey: "k1", data: "first" });
    await write({ idempotencyKey: "k1", data: "first" });
    await write({ id: 7, data: "last" });
    await write({ id: 7, data: "last" });
    await write({ id: "end", data: "end" });
    for (const client of clients) {
      await eventually("the end arrives", () => client.messages.includes("end"));
      expect(client.messages).toEqual(["first", "last", "end"]);
    }
    const repeat = await two.publish({ ...toAnna, data: "first" }, { "idempotency-key": "k1" });
    const [first] = clients[0]?.ofType("message") ?? [];
    expect(repeat.headers.get("x-push-id")).toBe(String(first?.id));
    const idsOf = (client: PushClient) => client.ofType("message").map(({ id }) => id);
    expect(idsOf(clients[0] as PushClient)).toEqual(idsOf(clients[1] as PushClient));
  });

  test("is skipped when its id or key is malformed, or no connection can have its user", async () => {
    const { one, write } = await startPair(broker);
    const target = "x".repeat(256);
    for (const wrong of [
      { id: {} },
      { id: target },
      { idempotencyKey: 7 },
      { idempotencyKey: "" },
      { target },
    ])
      await write({ ...wrong, data: "wrong" });
    await eventually(
      "they are counted",
      async () => (await one.metric("slipway_push_unreadable_total")) === 5,
    );
  });
});

describe.if(kafkaUrl !== undefined)("Kafka", () => {
  test("names a bare message by its place, so that a client resumes on another instance", async () => {
    const { one, two, write } = await startPair(kafkaUnderTest(kafkaUrl ?? ""));
    await resumesElsewhere(one, two, (data) => write({ data }));
  });
});

describe.if(amqpUrl !== undefined)("RabbitMQ", () => {
  test("names a bare message by its message_id, so that a client resumes on another instance", async () => {
    const { prefix, one, two } = await startPair(rabbitmqUnderTest(amqpUrl ?? ""));
    const connection = connectTo(amqpUrl ?? "");
    stops.push(() => connection.close());
    const publisher = connection.createPublisher({ confirm: true });
    await resumesElsewhere(one, two, async (data) => {
      const messageId = crypto.randomUUID();
      await publisher.send({ exchange: `${prefix}.broadcast`, messageId }, { ...toAnna, data });
    });
    await publisher.close();
  });
});
