import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  Admin,
  alterPartitionReassignmentsV0,
  ConfigResourceTypes,
  Connection as KafkaConnection,
} from "@platformatic/kafka";
import { startKafkaNodes } from "../fault-suite/setups/kafka-brokers.ts";
import { startApiServer } from "../support/api-server.ts";
import { freshPrefix, kafkaUnderTest, keptLog } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";
import { isTaken, readyBus } from "../support/log-reader.ts";
import { longTest } from "../support/long-test.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { startRabbitmqCluster } from "../support/rabbitmq.ts";
import { progress } from "../support/service-install.ts";
import type { RunningService } from "../support/service-process.ts";

longTest(600_000);

/** A broker of three nodes. */
interface Nodes {
  url: string;
  services: RunningService[];
  /** Places in `services`: of the leader of the log, and of the replicas that have all of its records. */
  placesOf(log: string): Promise<{ leader: number; replicas: number[] }>;
  stop(): Promise<void>;
}

const limitMs = 120_000;
const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
}, limitMs);

async function rabbitmqNodes(): Promise<Nodes> {
  const { url, nodes, streamNodes, stop } = await startRabbitmqCluster();
  const placesOf = async (log: string) => {
    const { leader, members } = await streamNodes(log);
    return { leader, replicas: members };
  };
  return { url, services: nodes, placesOf, stop };
}

async function kafkaNodes(): Promise<Nodes> {
  const nodes = await startKafkaNodes({ brokers: 3, gateways: 1, announce: async (_, __, port) => port });
  const addresses = nodes.map(({ gatewayPorts }) => `127.0.0.1:${gatewayPorts[0]}`);
  return {
    url: `kafka://${addresses.join(",")}`,
    services: nodes.map(({ service }) => service),
    async placesOf(log) {
      const { topics } = await asAdmin(addresses, (admin) =>
        admin.metadata({ topics: [log], forceUpdate: true }),
      );
      const { leader = 0, isr = [] } = topics.get(log)?.partitions[0] ?? {};
      return { leader: leader - 1, replicas: isr.map((node) => node - 1).sort() };
    },
    stop: () => Promise.all(nodes.map(({ service }) => service.stop())).then(() => {}),
  };
}

async function asAdmin<T>(bootstrapBrokers: string[], work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: "operator", bootstrapBrokers, retries: 5 });
  try {
    return await work(admin);
  } finally {
    await admin.close().catch(() => {});
  }
}

async function topicSettings(url: string, topic: string): Promise<Record<string, unknown>> {
  const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic };
  const [described] = await asAdmin(url.slice("kafka://".length).split(","), (admin) =>
    admin.describeConfigs({ resources: [resource] }),
  );
  return Object.fromEntries((described?.configs ?? []).map(({ name, value }) => [name, value]));
}

async function startInstance(url: string, prefix: string, instanceId: string): Promise<PushApp> {
  const app = await startPushApp({
    "push.cluster-enabled": true,
    "push.queue.url": url,
    "push.queue.prefix": prefix,
    "push.queue.instance-id": instanceId,
  });
  stops.push(() => app.stop());
  await eventually(`${instanceId} is ready`, () => isReady(app), limitMs);
  return app;
}

const isReady = async (app: PushApp) => (await app.get("/readyz")).status === 200;

/** A client that moves to another instance on demand. */
class Mover {
  readonly #clients: PushClient[] = [];

  get received(): number[] {
    return this.#clients.flatMap(({ messages }) => messages.map(Number));
  }

  /** Returns whether nothing is missing. */
  async moveTo(app: PushApp): Promise<boolean> {
    const before = this.#clients.at(-1);
    before?.close();
    await before?.ended();
    const last = before?.parsed.findLast(({ position, lastId }) => position ?? lastId);
    const resume = last ? `&resume=${last.position ?? last.lastId}` : "";
    const client = await PushClient.open(`${app.wsUrl}?code=anna${resume}`, ["slipway.v1"]);
    this.#clients.push(client);
    const [welcome] = await client.receivedType("welcome");
    return welcome?.recovered === true;
  }
}

// Three nodes take a minute to start.
const brokers = pick(
  [],
  [
    { name: "rabbitmq", start: rabbitmqNodes },
    { name: "kafka", start: kafkaNodes },
  ],
);

describe.each(brokers)("three nodes of $name", ({ name, start }) => {
  test("the leader is killed and moved under load: nothing acknowledged is lost, clients resume recovered", async () => {
    const nodes = await start();
    stops.push(nodes.stop);
    const prefix = freshPrefix();
    const log = `${prefix}.broadcast`;
    const apps = [
      await startInstance(nodes.url, prefix, "one"),
      await startInstance(nodes.url, prefix, "two"),
    ];
    await eventually(
      "three replicas",
      async () => (await nodes.placesOf(log)).replicas.length === 3,
      limitMs,
    );
    if (name === "kafka")
      expect(await topicSettings(nodes.url, log)).toMatchObject({
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
        "message.timestamp.type": "LogAppendTime",
      });
    const mover = new Mover();
    await mover.moveTo(apps[0] as PushApp);
    let number = 0;
    let confirmedAt = performance.now();
    let longestGapMs = 0;
    let isOver = false;
    stops.push(() => {
      isOver = true;
    });
    const load = (async () => {
      for (; !isOver; number++) {
        const app = apps[number % 2] as PushApp;
        const message = { targetType: "user", target: "anna", data: String(number) };
        // A publish that was answered 503 may have been stored.
        await eventually(
          `message ${number} is published`,
          async () =>
            (await app.publish(message, { "idempotency-key": `${prefix}-${number}` })).status === 200,
          limitMs,
        );
        longestGapMs = Math.max(longestGapMs, performance.now() - confirmedAt);
        confirmedAt = performance.now();
      }
    })();
    const leaders: number[] = [];
    const gapsMs: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const { leader } = await nodes.placesOf(log);
      leaders.push(leader);
      const before = number;
      longestGapMs = 0;
      await nodes.services[leader]?.kill();
      await eventually(
        "the leader has moved",
        async () => {
          const now = (await nodes.placesOf(log)).leader;
          return now >= 0 && now !== leader;
        },
        limitMs,
      );
      await eventually("publishing continues", () => number > before + 20, limitMs);
      gapsMs.push(Math.round(longestGapMs));
      for (const app of apps) await eventually("it is ready", () => isReady(app), limitMs);
      expect(await mover.moveTo(apps[(turn + 1) % 2] as PushApp)).toBe(true);
      await nodes.services[leader]?.restart();
      await eventually(
        "three replicas",
        async () => (await nodes.placesOf(log)).replicas.length === 3,
        limitMs,
      );
    }
    isOver = true;
    await load;
    await eventually("everything arrived", () => mover.received.length >= number, limitMs);
    expect(mover.received).toEqual(Array.from({ length: number }, (_, each) => each));
    expect(leaders).toHaveLength(3);
    progress(`${name}: publishing stood still for ${gapsMs.join(", ")} ms after the leader was killed`);
    expect(Math.max(...gapsMs)).toBeLessThan(60_000);
  }, 600_000);
});

// Only in the long form, as above: three brokers take a minute to start.
describe.each(brokers.slice(0, 1).map(() => "three Kafka brokers"))("%s with Kafka's defaults", () => {
  let nodes: Nodes;
  let addresses: string[];
  beforeAll(async () => {
    nodes = await kafkaNodes();
    stops.push(nodes.stop);
    addresses = nodes.url.slice("kafka://".length).split(",");
  }, limitMs);

  async function openBus(prefix: string) {
    const { log, lines } = keptLog();
    const reader = await readyBus(kafkaUnderTest(nodes.url).bus({ prefix, instanceId: "a bus", log }));
    stops.push(() => reader.bus.close());
    return { ...reader, lines };
  }

  test("a log with one replica is a warning with the commands, in the log and on the system page, until it has three", async () => {
    const prefix = freshPrefix();
    const log = `${prefix}.broadcast`;
    await asAdmin(addresses, (admin) => admin.createTopics({ topics: [log], partitions: 1, replicas: 1 }));
    const server = await startApiServer(
      { "push.cluster-enabled": true, "push.queue.url": nodes.url, "push.queue.prefix": prefix },
      undefined,
      "start",
    );
    stops.push(() => server.stop());
    const { lines } = await openBus(prefix);
    const logged = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(logged).toEqual([
      expect.stringContaining(`The Kafka topic ${log} has 1 of the 3 replicas that 3 brokers allow`),
    ]);
    const warnings = async () =>
      (await server.admin.expect<{ warnings: string[] }>(200, "GET", "/api/system")).warnings.filter((text) =>
        text.includes("replica"),
      );
    await eventually("the system page has it", async () => (await warnings()).length === 1, limitMs);
    const [, plan = ""] = /echo '(.*?)'/.exec(logged[0] ?? "") ?? [];
    await reassign(addresses[0] ?? "", JSON.parse(plan));
    await eventually("no warning is left", async () => (await warnings()).length === 0, limitMs);
    expect((await nodes.placesOf(log)).replicas).toEqual([0, 1, 2]);
  }, 600_000);

  test("with too few in-sync replicas reading continues, the reason is logged once, and it is ready when they are back", async () => {
    const prefix = freshPrefix();
    const names = [`${prefix}.broadcast`, `${prefix}.control`];
    const configs = [{ name: "min.insync.replicas", value: "3" }];
    await asAdmin(addresses, (admin) =>
      admin.createTopics({ topics: names, partitions: 1, replicas: 3, configs }),
    );
    const { bus, events, lines, isReady } = await openBus(prefix);
    const places = await Promise.all(names.map(nodes.placesOf));
    const follower = [0, 1, 2].find((place) => places.every(({ leader }) => leader !== place)) ?? -1;
    lines.splice(0);
    await nodes.services[follower]?.kill();
    await eventually("it only receives", () => bus.state().isReceiving === true, limitMs);
    expect(await isTaken(bus.broadcast.append({ id: "refused" }))).toBe(false);
    // Longer than the markers are apart.
    await Bun.sleep(6_000);
    expect(bus.state()).toEqual({
      ready: false,
      isReceiving: true,
      detail: expect.stringContaining(
        "fewer in-sync replicas than its min.insync.replicas; start the missing",
      ),
    });
    await nodes.services[follower]?.restart();
    await eventually("it is ready", isReady, limitMs);
    await bus.broadcast.append({ id: "after" });
    await eventually("it arrived", () => events.at(-1) === "after");
    expect(events).not.toContain("lost");
    const changes = lines.filter(({ msg }) => !msg.startsWith("publishes were refused"));
    expect(changes.map(({ level, msg }) => [level, msg])).toContainEqual([
      40,
      expect.stringContaining("the message queue accepts no messages"),
    ]);
    expect(changes.at(-1)).toMatchObject({ level: 30, msg: "the message queue is ready" });
    expect(changes.length).toBeLessThan(6);
  }, 600_000);
});

interface Reassignment {
  partitions: { topic: string; partition: number; replicas: number[] }[];
}

/** What kafka-reassign-partitions.sh does with its file. */
async function reassign(address: string, { partitions }: Reassignment): Promise<void> {
  const [host = "", port = ""] = address.split(":");
  const connection = new KafkaConnection("operator");
  await connection.connect(host, Number(port));
  const topics = partitions.map(({ topic, partition, replicas }) => ({
    name: topic,
    partitions: [{ partitionIndex: partition, replicas }],
  }));
  await alterPartitionReassignmentsV0.api.async(connection, limitMs, true, topics);
  await connection.close();
}
