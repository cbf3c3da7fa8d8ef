import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";
import { LoadClients, LoadPublisher } from "../support/load.ts";
import type { LoadConnection, LoadMessage } from "../support/load-messages.ts";
import { isAlive } from "../support/process-watch.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers, type WorkerInstance } from "../support/worker-instance.ts";

const connectionCount = pick(600, 6_000);
const messageCount = pick(1_000, 5_000);
const toAllCount = pick(20, 50);
const channels = 20;
const lanes = 16;
const workers = 3;

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Two connections per user; every tenth is temporary. */
function connectionsTo(url: string, count: number, resumes: boolean): LoadConnection[] {
  return Array.from({ length: count }, (_, index) => ({
    url,
    userId: `user-${index % (count / 2)}`,
    channel: `channel-${index % channels}`,
    isTemporary: index % 10 === 0,
    resumes,
  }));
}

/** All four target types, mixed; each target always in the same lane, so that its order is known. */
function targetsByLane(connections: number): Omit<LoadMessage, "number">[][] {
  const byLane: Omit<LoadMessage, "number">[][] = Array.from({ length: lanes }, () => []);
  const add = (lane: number, targetType: LoadMessage["targetType"], target: string) =>
    byLane[lane % lanes]?.push({ targetType, target });
  for (let index = 0; index < messageCount; index++) {
    const user = (index * 7) % (connections / 2);
    const temporary = user - (user % 10);
    if (index % (messageCount / toAllCount) === 0) add(0, "all", "");
    else if (index % 10 === 1) add(index % channels, "channel", `channel-${index % channels}`);
    else if (index % 3 === 0) add(temporary, "temp_user", `user-${temporary}`);
    else add(user, "user", `user-${user}`);
  }
  return byLane;
}

async function start() {
  const verify = startVerifyService();
  stops.push(() => verify.stop());
  const push = await startWorkers(workers, { "push-verify-uri": verify.url });
  stops.push(() => push.stop());
  const clients = new LoadClients();
  stops.push(() => clients.stop());
  return { push, clients };
}

async function settled(clients: LoadClients, confirmed: LoadMessage[]) {
  await eventually("all arrived", async () => (await clients.reconcile(confirmed)).missing === 0).catch(
    () => {},
  );
  return clients.reconcile(confirmed);
}

async function share(push: WorkerInstance): Promise<number[]> {
  const totals = await Promise.all(
    push.workerPids().map(async (pid) => {
      const sockets = await Bun.$`ls /proc/${pid}/fd | wc -l`.text();
      return Number(sockets);
    }),
  );
  const sum = totals.reduce((left, right) => left + right, 0);
  return totals.map((total) => total / sum);
}

describe(`${connectionCount} connections over ${workers} workers`, () => {
  test(
    `${messageCount} publishes to all target types through random workers: none lost, none doubled, order kept`,
    async () => {
      const { push, clients } = await start();
      const connections = connectionsTo(push.url, connectionCount, false);
      expect((await clients.open(connections)).open).toBe(connectionCount);
      // A third each, with a wide margin: the kernel chooses by a hash of the addresses.
      for (const part of await share(push)) expect(part).toBeGreaterThan(0.2);

      const publisher = new LoadPublisher();
      const publishLane = async (targets: Omit<LoadMessage, "number">[]) => {
        for (const target of targets) await publisher.publish(push.url, target);
      };
      await Promise.all(targetsByLane(connectionCount).map(publishLane));
      expect([...publisher.statuses]).toEqual([[200, messageCount]]);
      expect(new Set(publisher.confirmed.map(({ targetType }) => targetType)).size).toBe(4);

      const result = await settled(clients, publisher.confirmed);
      expect(result).toMatchObject({ missing: 0, doubled: 0, misordered: 0, strayed: 0 });
      expect(result.deliveries).toBeGreaterThan(toAllCount * connectionCount);
      expect((await clients.counts()).closed).toBe(0);
    },
    pick(240_000, 600_000),
  );

  test(
    "with a worker killed every second, clients that resume lose nothing and get nothing twice",
    async () => {
      const { push, clients } = await start();
      const connections = connectionsTo(push.url, connectionCount, true);
      await clients.open(connections);
      const publisher = new LoadPublisher();
      let kills = 0;
      let isOver = false;
      const killing = (async () => {
        while (!isOver) {
          // A worker dies each second.
          await Bun.sleep(1_000);
          // On a slow machine the newest may not serve yet, and an instance gives up after five such ends.
          if (!(await push.isReady())) continue;
          const [pid] = push.workerPids();
          if (pid === undefined || !isAlive(pid)) continue;
          kills++;
          process.kill(pid, "SIGKILL");
        }
      })();
      const minimum = pick(4, 30);
      try {
        const publishLane = async (targets: Omit<LoadMessage, "number">[]) => {
          for (let index = 0; index < targets.length || kills < minimum; index++) {
            const target = targets[index % targets.length];
            if (target) await publisher.publishUntilConfirmed(push.url, target);
            // The rate of a lane.
            await Bun.sleep(5);
          }
        };
        await Promise.all(targetsByLane(connectionCount).map(publishLane));
      } finally {
        isOver = true;
        await killing;
      }
      await eventually(
        "all are connected again",
        async () => (await clients.counts()).open === connectionCount,
      );
      const result = await settled(clients, publisher.confirmed);
      const { resumed, unrecovered } = await clients.counts();
      expect(result).toMatchObject({ missing: 0, doubled: 0, misordered: 0, strayed: 0 });
      expect([unrecovered, kills >= minimum, resumed > 0]).toEqual([0, true, true]);
      expect(push.isRunning()).toBe(true);
    },
    pick(120_000, 600_000),
  );
});
