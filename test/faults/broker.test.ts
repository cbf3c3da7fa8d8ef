import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startKafka } from "../support/kafka.ts";
import { pick } from "../support/length.ts";
import { LoadClients, LoadPublisher } from "../support/load.ts";
import type { LoadConnection } from "../support/load-messages.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { startRabbitmq } from "../support/rabbitmq.ts";
import type { RunningService } from "../support/service-process.ts";
import { startVerifyService, type VerifyService } from "../support/verify-service.ts";

const kills = pick(2, 10);
const pauseMs = pick(6_000, 20_000);
const connectionCount = pick(60, 600);
const beatMs = 5_000;
const answerWithinMs = 5_000;
const resumeWithinMs = 5_000;
/** Margin for a machine that also runs the brokers, the clients and other tests. */
const toleranceMs = 10_000;

/** Three instances with their own broker, and clients on all of them. */
interface Cluster {
  broker: BrokerUnderTest;
  service: RunningService;
  instances: PushProcess[];
  clients: LoadClients;
}

const clusters: Cluster[] = [];
let verify: VerifyService;

beforeAll(async () => {
  verify = startVerifyService();
  const [rabbitmq, kafka] = await Promise.all([startRabbitmq(), startKafka()]);
  clusters.push(
    ...(await Promise.all([
      startCluster(rabbitmq, rabbitmqUnderTest(rabbitmq.url)),
      startCluster(kafka, kafkaUnderTest(kafka.url)),
    ])),
  );
});

afterAll(async () => {
  await Promise.all(
    clusters.map(async ({ service, instances, clients }) => {
      await clients.stop();
      await Promise.all(instances.map((instance) => instance.stop()));
      await service.stop();
    }),
  );
  await verify.stop();
});

async function startCluster(service: RunningService, broker: BrokerUnderTest): Promise<Cluster> {
  const prefix = freshPrefix();
  const instances = await Promise.all(
    ["one", "two", "three"].map((name) =>
      startPushProcess(`${broker.name}-${name}`, {
        "push-verify-uri": verify.url,
        "push-cluster-enabled": "true",
        "push-queue-url": service.url,
        "push-queue-prefix": prefix,
        "push-queue-instance-id": name,
      }),
    ),
  );
  const clients = new LoadClients();
  await clients.open(Array.from({ length: connectionCount }, (_, index) => connection(instances, index)));
  return { broker, service, instances, clients };
}

function connection(instances: PushProcess[], index: number): LoadConnection {
  return {
    url: instances[index % instances.length]?.url ?? "",
    userId: `user-${index}`,
    channel: `channel-${index % 5}`,
    isTemporary: false,
  };
}

/** A load on a ready and idle cluster. */
async function startLoad({ clients }: Cluster, instances: PushProcess[]): Promise<Load> {
  await allReady(instances);
  await clients.forget();
  return new Load(instances);
}

/** Publishes continuously, to users and channels, through every instance. */
class Load {
  readonly publisher = new LoadPublisher();
  readonly #running: Promise<unknown>;
  #isOver = false;

  constructor(instances: PushProcess[]) {
    const lanes = instances.flatMap(({ url }, index) => [
      this.#run(url, () => ({ targetType: "channel" as const, target: `channel-${index}` })),
      this.#run(url, (turn) => ({
        targetType: "user" as const,
        target: `user-${(turn * instances.length + index) % connectionCount}`,
      })),
    ]);
    this.#running = Promise.all(lanes);
  }

  get refused(): number {
    return this.publisher.refused.length;
  }

  /** Resolves after this many more confirmations: the cluster works. */
  async flows(): Promise<void> {
    const before = this.publisher.confirmed.length;
    await eventually("messages flow", () => this.publisher.confirmed.length > before + 100);
  }

  async end(): Promise<LoadPublisher> {
    this.#isOver = true;
    await this.#running;
    return this.publisher;
  }

  async #run(
    url: string,
    targetOf: (turn: number) => Parameters<LoadPublisher["publish"]>[1],
  ): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      await this.publisher.publish(url, targetOf(turn));
      // The rate of a lane.
      await Bun.sleep(2);
    }
  }
}

/** When the client library alone gets the first confirmation after the broker is back. */
async function firstBareConfirmation(broker: BrokerUnderTest): Promise<number> {
  const isConfirmed = () =>
    broker.probe().then(
      () => true,
      () => false,
    );
  await eventually("a bare client is confirmed", isConfirmed);
  return performance.now();
}

async function allReady(instances: PushProcess[]): Promise<void> {
  const areReady = async () =>
    (await Promise.all(instances.map((instance) => instance.isReady()))).every((isReady) => isReady);
  await eventually("all instances are ready", areReady);
}

async function expectAllArrived({ clients, broker }: Cluster, publisher: LoadPublisher): Promise<void> {
  const compare = () => clients.reconcile(publisher.confirmed, publisher.refused);
  await eventually("all arrived", async () => (await compare()).missing === 0).catch(() => {});
  expect({ broker: broker.name, ...(await compare()) }).toMatchObject({
    broker: broker.name,
    missing: 0,
    doubled: 0,
    misordered: 0,
    strayed: 0,
  });
}

function expectAnswers({ broker }: Cluster, publisher: LoadPublisher): void {
  expect([...publisher.statuses.keys()].sort()).toEqual([200, 503]);
  expect({ broker: broker.name, isInTime: publisher.slowestMs < answerWithinMs + toleranceMs }).toEqual({
    broker: broker.name,
    isInTime: true,
  });
}

/** Runs both brokers concurrently; a failure of one does not abort the other. */
async function onEach(scenario: (cluster: Cluster) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(clusters.map(scenario));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

describe("a cluster of three processes under load", () => {
  test(
    `its broker killed ${kills} times: what was confirmed arrives, the rest is answered 503 in time, consuming resumes`,
    async () => {
      await onEach(async (cluster) => {
        const { broker, service, instances } = cluster;
        const load = await startLoad(cluster, instances);
        for (let kill = 0; kill < kills; kill++) {
          await load.flows();
          const refusedBefore = load.refused;
          await service.kill();
          await eventually("publishes are refused", () => load.refused > refusedBefore);
          const back = service.restart();
          const bareAt = await firstBareConfirmation(broker);
          await allReady(instances);
          expect(performance.now() - bareAt).toBeLessThan(resumeWithinMs + toleranceMs);
          await back;
        }
        await load.flows();
        const publisher = await load.end();
        expectAnswers(cluster, publisher);
        await expectAllArrived(cluster, publisher);
        expect((await cluster.clients.counts()).closed).toBe(0);
      });
    },
    pick(180_000, 900_000),
  );

  test(
    `its broker paused for ${pauseMs / 1000} s: nothing restarts, connections stay, publishing fails cleanly and recovers`,
    async () => {
      await onEach(async (cluster) => {
        const { service, instances, clients } = cluster;
        const pids = instances.map(({ pid }) => pid);
        const load = await startLoad(cluster, instances);
        await load.flows();
        service.pause();
        const pausedAt = performance.now();
        await eventually("publishes are refused", () => load.refused > 0);
        for (const instance of instances) expect((await fetch(`${instance.url}/livez`)).status).toBe(200);
        await eventually("the pause is over", () => performance.now() - pausedAt > pauseMs, 2 * pauseMs);
        service.resume();
        await allReady(instances);
        await load.flows();
        const publisher = await load.end();
        expectAnswers(cluster, publisher);
        await expectAllArrived(cluster, publisher);
        expect((await clients.counts()).closed).toBe(0);
        expect(instances.map(({ pid }) => pid)).toEqual(pids);
        expect(instances.every((instance) => instance.isRunning())).toBe(true);
      });
    },
    pick(120_000, 240_000),
  );

  test("an instance killed: the others continue, the cluster's online users are right within three heartbeats, and it comes back", async () => {
    await Promise.all(
      clusters.map(async (cluster) => {
        const { instances, clients, broker } = cluster;
        const [one, two, three] = instances as [PushProcess, PushProcess, PushProcess];
        const onlineOn = async (instance: PushProcess) =>
          (await instance.get<{ data: string[] }>("/feign/getOnlineUsers?scope=cluster")).data.length;
        await eventually("all are known", async () => (await onlineOn(one)) === connectionCount);
        await three.end("SIGKILL");
        const diedAt = performance.now();
        const load = await startLoad(cluster, [one, two]);
        const alive = (connectionCount * 2) / 3;
        const areRight = async () => (await onlineOn(one)) === alive && (await onlineOn(two)) === alive;
        await eventually("the dead one's users are gone", areRight, 6 * beatMs);
        expect(performance.now() - diedAt).toBeLessThan(3 * beatMs + toleranceMs);
        await three.start();
        const index = connectionCount + 2;
        await clients.open([connection(instances, index)]);
        await eventually("its new user is known", async () => (await onlineOn(one)) === alive + 1);
        const before = (await clients.counts()).received;
        await load.publisher.publish(one.url, { targetType: "user", target: `user-${index}` });
        await load.flows();
        const publisher = await load.end();
        expect({ broker: broker.name, statuses: [...publisher.statuses.keys()] }).toEqual({
          broker: broker.name,
          statuses: [200],
        });
        await eventually("the message arrived", async () => (await clients.counts()).received > before);
      }),
    );
  });
});
