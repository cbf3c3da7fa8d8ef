import { Admin, Consumer, Producer, stringSerializers } from "@platformatic/kafka";
import { Connection } from "rabbitmq-client";

/** A client library alone, used as its documentation shows, with the same durability as ours. */
export interface BareClient {
  /** Resolves once the broker has confirmed all of them. */
  send(ids: string[]): Promise<void>;
  onReceive(listener: (id: string) => void): void;
  /** The fastest documented way to publish: messages per call, and concurrent calls. */
  batch: number;
  calls: number;
  close(): Promise<void>;
}

export const padding = "x".repeat(200);

export async function bareRabbitmq(url: string, name: string): Promise<BareClient> {
  const connection = new Connection(url);
  const publisher = connection.createPublisher({
    confirm: true,
    exchanges: [{ exchange: name, type: "fanout", durable: true }],
  });
  let listener = (_id: string) => {};
  const consumer = connection.createConsumer(
    {
      queue: `${name}.bare`,
      queueOptions: { durable: true, arguments: { "x-queue-type": "stream" } },
      arguments: { "x-stream-offset": "next" },
      exchanges: [{ exchange: name, type: "fanout", durable: true }],
      queueBindings: [{ exchange: name }],
      qos: { prefetchCount: 2_000 },
    },
    (message) => listener(message.body.id),
  );
  await new Promise<void>((resolve) => consumer.once("ready", resolve));
  return {
    batch: 1,
    calls: 1_000,
    async send(ids) {
      await Promise.all(ids.map((id) => publisher.send({ exchange: name, durable: true }, { id, padding })));
    },
    onReceive(given) {
      listener = given;
    },
    async close() {
      await consumer.close();
      await publisher.close();
      await connection.close();
    },
  };
}

export async function bareKafka(url: string, topic: string): Promise<BareClient> {
  const base = { clientId: "bare", bootstrapBrokers: [url.slice("kafka://".length)] };
  const admin = new Admin(base);
  await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 });
  await admin.close();
  const producer = new Producer({ ...base, serializers: stringSerializers, idempotent: true });
  const send = (ids: string[]) =>
    producer.send({
      messages: ids.map((id) => ({ topic, key: id, value: JSON.stringify({ id, padding }) })),
    });
  await send(["first"]);
  const consumer = new Consumer({ ...base, groupId: `bare-${topic}` });
  const stream = await consumer.consume({ topics: [topic], mode: "latest", maxWaitTime: 1_000 });
  let listener = (_id: string) => {};
  stream.on("data", (message) => listener(JSON.parse(message.value.toString()).id));
  return {
    batch: 1_000,
    calls: 1,
    async send(ids) {
      await send(ids);
    },
    onReceive(given) {
      listener = given;
    },
    async close() {
      await stream.close();
      await consumer.close();
      await producer.close();
    },
  };
}
