import { afterAll, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";
import { LoadClients, LoadPublisher } from "../support/load.ts";
import { type LoadConnection, type LoadMessage, reconcile } from "../support/load-messages.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";

const connectionCount = pick(300, 3_000);
const messageCount = pick(3_000, 20_000);
const toAllCount = pick(30, 200);
const channels = pick(10, 50);
const lanes = 48;

const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** Two connections per user, on two instances; every tenth connection is temporary. */
function connectionsOver(instances: PushProcess[]): LoadConnection[] {
  return Array.from({ length: connectionCount }, (_, index) => ({
    url: instances[index % instances.length]?.url ?? "",
    userId: `user-${index % (connectionCount / 2)}`,
    channel: `channel-${index % channels}`,
    isTemporary: index % 10 === 0,
  }));
}

/** All four target types, mixed; each target always in the same lane, so that its order is known. */
function targetsByLane(): Omit<LoadMessage, "number">[][] {
  const byLane: Omit<LoadMessage, "number">[][] = Array.from({ length: lanes }, () => []);
  const everyNth = messageCount / toAllCount;
  for (let index = 0; index < messageCount; index++) {
    const user = index % (connectionCount / 2);
    const channel = index % channels;
    const temporary = user - (user % 5);
    if (index % everyNth === 0) byLane[0]?.push({ targetType: "all", target: "" });
    else if (index % 10 === 1)
      byLane[channel % lanes]?.push({ targetType: "channel", target: `channel-${channel}` });
    else if (index % 3 === 0)
      byLane[temporary % lanes]?.push({ targetType: "temp_user", target: `user-${temporary}` });
    else byLane[user % lanes]?.push({ targetType: "user", target: `user-${user}` });
  }
  return byLane;
}

function reconciles(name: string, queueUrl: string) {
  test(
    `${connectionCount} connections over three processes, ${messageCount} messages through ${name}: none lost, none doubled, order per target kept`,
    async () => {
      const verify = startVerifyService();
      stops.push(() => verify.stop());
      const prefix = freshPrefix();
      const instances = await Promise.all(
        ["one", "two", "three"].map((instance) =>
          startPushProcess(instance, {
            "push-verify-uri": verify.url,
            "push-cluster-enabled": "true",
            "push-queue-url": queueUrl,
            "push-queue-prefix": prefix,
            "push-queue-instance-id": instance,
          }),
        ),
      );
      stops.push(...instances.map((instance) => () => instance.stop()));
      const clients = new LoadClients();
      stops.push(() => clients.stop());
      const connections = connectionsOver(instances);
      expect((await clients.open(connections)).open).toBe(connectionCount);

      const publisher = new LoadPublisher();
      await Promise.all(
        targetsByLane().map(async (targets, lane) => {
          for (const [index, target] of targets.entries())
            await publisher.publish(instances[(lane + index) % instances.length]?.url ?? "", target);
        }),
      );
      expect([...publisher.statuses]).toEqual([[200, messageCount]]);
      expect(publisher.confirmed.filter(({ targetType }) => targetType === "all")).toHaveLength(toAllCount);
      const types = new Set(publisher.confirmed.map(({ targetType }) => targetType));
      expect(types.size).toBe(4);

      await eventually(
        "all arrived",
        async () => (await clients.reconcile(publisher.confirmed)).missing === 0,
      ).catch(() => {});
      const result = await clients.reconcile(publisher.confirmed);
      expect(result).toMatchObject({ missing: 0, doubled: 0, misordered: 0, strayed: 0 });
      expect(result.deliveries).toBeGreaterThan(toAllCount * connectionCount);
      expect((await clients.counts()).closed).toBe(0);
    },
    pick(240_000, 600_000),
  );
}

describe("a cluster of processes", () => {
  test("the comparison finds lost, duplicate, reordered and misdirected messages", () => {
    const connection = { url: "x", userId: "anna", channel: "news", isTemporary: false };
    const messages: LoadMessage[] = [
      { number: 1, targetType: "all", target: "" },
      { number: 2, targetType: "user", target: "anna" },
      { number: 3, targetType: "user", target: "anna" },
      { number: 4, targetType: "temp_user", target: "anna" },
    ];
    const check = (...numbers: number[]) => reconcile([{ connection, numbers }], messages, []);
    expect(check(1, 2, 3)).toMatchObject({ missing: 0, doubled: 0, misordered: 0, strayed: 0 });
    expect(check(2, 3)).toMatchObject({ missing: 1 });
    expect(check(1, 2, 3, 2)).toMatchObject({ doubled: 1 });
    expect(check(3, 1, 2)).toMatchObject({ misordered: 1 });
    expect(check(1, 2, 3, 4)).toMatchObject({ strayed: 1 });
  });
});

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");
if (amqpUrl) reconciles("RabbitMQ", amqpUrl);
if (kafkaUrl) reconciles("Kafka", kafkaUrl);
