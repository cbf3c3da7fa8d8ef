import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Connection } from "rabbitmq-client";
import { declareKeyedQueue, keyedHeaders, recallKeyed } from "../../src/bus/rabbitmq/rabbitmq-recall.ts";
import { freshPrefix } from "../support/buses.ts";
import { serviceUrl } from "../support/services.ts";

const url = await serviceUrl("amqp");
const messages = 1_000;
const instances = 8;
const rounds = 6;

describe.skipIf(!url)("messages with a key that RabbitMQ keeps", () => {
  const prefix = freshPrefix();
  const open: Connection[] = [];
  const connect = () => {
    const connection = new Connection({ url: url ?? "" });
    connection.on("error", () => {});
    open.push(connection);
    return connection;
  };

  beforeAll(async () => {
    const connection = connect();
    const channel = await connection.acquire();
    await channel.exchangeDeclare({ exchange: `${prefix}.broadcast`, type: "fanout", durable: true });
    await channel.close();
    expect(await declareKeyedQueue(connection, prefix, { recallRefused: () => {} })).toBe(true);
    const publisher = connection.createPublisher({ confirm: true });
    for (let number = 0; number < messages; number++)
      await publisher.send({ exchange: `${prefix}.broadcast`, headers: keyedHeaders }, { number });
    await publisher.close();
  });

  afterAll(async () => {
    const channel = await open[0]?.acquire();
    await channel?.queueDelete({ queue: `${prefix}.keyed` });
    for (const exchange of ["keyed", "broadcast"])
      await channel?.exchangeDelete({ exchange: `${prefix}.${exchange}` });
    await channel?.close();
    await Promise.all(open.map((connection) => connection.close()));
  });

  async function recalled(connection: Connection): Promise<number> {
    let taken = 0;
    const request = {
      windowMs: 300_000,
      take(records: unknown[]) {
        taken += records.length;
      },
      end: () => {},
    };
    await recallKeyed(connection, prefix, request, new AbortController().signal);
    return taken;
  }

  test("all of them are recalled by each of several instances that start at the same time", async () => {
    const connections = Array.from({ length: instances }, connect);
    for (let round = 0; round < rounds; round++)
      expect(await Promise.all(connections.map(recalled))).toEqual(connections.map(() => messages));
  });
});
