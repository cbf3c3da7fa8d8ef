import { expect, test } from "bun:test";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");
const brokers = [
  ...(amqpUrl ? [rabbitmqUnderTest(amqpUrl)] : []),
  ...(kafkaUrl ? [kafkaUnderTest(kafkaUrl)] : []),
];

async function ofCluster(app: PushApp): Promise<string> {
  const answer = await app.get("/feign/getOnlineUsers?scope=cluster");
  return ((await answer.json()) as { data: string[] }).data.sort().join();
}

async function presenceOver(broker: BrokerUnderTest): Promise<void> {
  const prefix = freshPrefix();
  const start = (instanceId: string) =>
    startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": broker.url,
      "push.queue.prefix": prefix,
      "push.queue.instance-id": instanceId,
    });
  const [one, two] = await Promise.all([start("one"), start("two")]);
  await eventually("both are ready", async () =>
    (await Promise.all([one, two].map((app) => app.get("/readyz")))).every(({ status }) => status === 200),
  );
  const events = await broker.read(prefix, "events");
  const open = (app: PushApp, query: string) => PushClient.open(`${app.wsUrl}?${query}`);
  // While instances start, two may publish an event, under one id.
  const told = (type: string, userId: string) =>
    new Set(
      events.messages.filter((event) => event.type === type && event.userId === userId).map(({ id }) => id),
    ).size;

  const near = await open(one, "code=greta");
  const far = await open(two, "code=hanna");
  const temporary = await open(two, "code=ines&temp=1");
  const isKnown = async (app: PushApp) => (await ofCluster(app)) === "greta,hanna";
  await eventually("both know both", async () => (await isKnown(one)) && isKnown(two));
  expect(await one.online()).toEqual(["greta"]);
  expect(await two.online()).toEqual(["hanna"]);
  await eventually(
    "both are reported online",
    () => told("online", "greta") === 1 && told("online", "hanna") === 1,
  );
  near.close();
  const again = await open(two, "code=greta");
  far.close();
  await eventually("hanna is reported offline", () => told("offline", "hanna") === 1);
  expect({ broker: broker.name, greta: told("offline", "greta"), ines: told("online", "ines") }).toEqual({
    broker: broker.name,
    greta: 0,
    ines: 0,
  });
  await one.stop();
  await two.stop();
  // The last instance reports at its end, without a grace period.
  await eventually("greta is reported offline", () => told("offline", "greta") === 1);
  for (const client of [again, temporary]) client.close();
  await events.stop();
}

/** One instance that writes to the queue, but is not in a cluster. */
async function presenceAlone(broker: BrokerUnderTest): Promise<void> {
  const prefix = freshPrefix();
  const app = await startPushApp({
    "push.accept-client-message": true,
    "push.queue-client-messages": true,
    "push.queue.url": broker.url,
    "push.queue.prefix": prefix,
  });
  const events = await broker.read(prefix, "events");
  const client = await PushClient.open(`${app.wsUrl}?code=karl`);
  // An event whose confirmation came late is written again, under the same id.
  const told = () => {
    const byId = new Map(events.messages.map(({ id, type, userId }) => [id, `${type} ${userId}`]));
    return [...byId.values()];
  };
  await eventually("karl is reported online", () => told().length === 1);
  await app.stop();
  await eventually("karl is reported offline", () => told().length === 2);
  expect(told()).toEqual(["online karl", "offline karl"]);
  client.close();
  await events.stop();
}

/** The oldest instance writes the events; each restart makes another one the oldest. */
async function presenceOverRollingRestart(broker: BrokerUnderTest): Promise<void> {
  const prefix = freshPrefix();
  const start = async (instanceId: string) => {
    const app = await startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": broker.url,
      "push.queue.prefix": prefix,
      "push.queue.instance-id": instanceId,
    });
    await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
    return app;
  };
  const one = await start("one");
  const two = await start("two");
  // Long enough for both to know which of them reports.
  await Bun.sleep(6_000);
  const events = await broker.read(prefix, "events");
  const told = (type: string, userId: string) =>
    events.messages.filter((event) => event.type === type && event.userId === userId);
  const client = await PushClient.open(`${two.wsUrl}?code=lena`);
  await eventually("lena is reported online", () => told("online", "lena").length >= 1);
  await one.stop();
  const three = await start("three");
  const moved = await PushClient.open(`${three.wsUrl}?code=lena`);
  await two.stop();
  // Longer than the grace period.
  await Bun.sleep(7_000);
  expect({ broker: broker.name, offline: told("offline", "lena").length }).toEqual({
    broker: broker.name,
    offline: 0,
  });
  await three.stop();
  await eventually("lena is reported offline", () => told("offline", "lena").length >= 1);
  const ids = (type: string) => new Set(told(type, "lena").map(({ id }) => id)).size;
  expect({ broker: broker.name, online: ids("online"), offline: ids("offline") }).toEqual({
    broker: broker.name,
    online: 1,
    offline: 1,
  });
  for (const each of [client, moved]) each.close();
  await events.stop();
}

test("an event keeps its id over a rolling restart, and a user who stays is not reported again", async () => {
  await Promise.all(brokers.map(presenceOverRollingRestart));
});

test("an instance that ends in order reports its users offline", async () => {
  await Promise.all(brokers.map(presenceAlone));
});

// Both brokers at the same time, because the test mostly waits for grace periods.
test("online users are known per instance and for the cluster, and reported to other services once", async () => {
  await Promise.all(brokers.map(presenceOver));
});
