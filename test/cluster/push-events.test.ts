import { afterAll, beforeAll, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { EventReceiver, type ReceivedEvent } from "../support/event-receiver.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService, type VerifyService } from "../support/verify-service.ts";
import { startWorkers } from "../support/worker-instance.ts";

const brokers = [
  { broker: "RabbitMQ", url: await serviceUrl("amqp") },
  { broker: "Kafka", url: await serviceUrl("kafka") },
].filter(({ url }) => url !== undefined);
const users = Array.from({ length: 1_000 }, (_, index) => `user-${index}`);
const halls = 10;
const atOnce = 50;

let verify: VerifyService;
const processes: PushProcess[] = [];
const receivers: EventReceiver[] = [];

beforeAll(() => {
  verify = startVerifyService();
});
afterAll(async () => {
  await Promise.all([...processes.map((each) => each.stop()), ...receivers.map((each) => each.kill())]);
  await verify.stop();
});

async function startReceiver(): Promise<EventReceiver> {
  const receiver = new EventReceiver();
  receivers.push(receiver);
  await receiver.start();
  return receiver;
}

async function startGateway(name: string, settings: Record<string, string>): Promise<PushProcess> {
  const gateway = await startPushProcess(name, { "push-verify-uri": verify.url, ...settings });
  processes.push(gateway);
  return gateway;
}

const hallOf = (userId: string) => `presence-hall-${Number(userId.slice("user-".length)) % halls}`;

/** The users and their connections, as they really are. */
class Crowd {
  readonly #clients = new Map<string, PushClient>();

  get online(): Set<string> {
    return new Set([...this.#clients].filter(([, { closed }]) => closed === null).map(([userId]) => userId));
  }

  async come(userIds: readonly string[], gateway: PushProcess): Promise<void> {
    const waiting = [...userIds];
    const comeNext = async () => {
      for (let userId = waiting.shift(); userId !== undefined; userId = waiting.shift()) {
        const query = `code=${userId}&channel=${hallOf(userId)}`;
        this.#clients.set(userId, await PushClient.open(`${gateway.url.replace("http", "ws")}/ws?${query}`));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, comeNext));
  }

  async go(userIds: readonly string[]): Promise<void> {
    for (const userId of userIds) this.#clients.get(userId)?.close();
    await this.gone(userIds);
  }

  /** Waits until the connections are closed. */
  async gone(userIds: readonly string[]): Promise<void> {
    await eventually("the connections close", () =>
      userIds.every((userId) => this.#clients.get(userId)?.closed !== null),
    );
  }
}

/** What the events are about: a user, a user in a channel, or a channel. */
const subjectOf = ({ channel = "", userId = "" }: ReceivedEvent) => `${channel} ${userId}`;
const isComing = ({ type }: ReceivedEvent) => ["online", "joined", "occupied"].includes(type);

/** The last event of each subject is true. */
async function becomesTrue(receiver: EventReceiver, crowd: Crowd): Promise<void> {
  await eventually("the last event of each user is true", () => {
    const expected = new Set(
      [...crowd.online].flatMap((userId) => {
        const hall = hallOf(userId);
        return [` ${userId}`, `${hall} ${userId}`, `${hall} `];
      }),
    );
    const last = new Map(receiver.distinct().map((event) => [subjectOf(event), isComing(event)]));
    const present = [...last].filter(([, isPresent]) => isPresent);
    return present.length === expected.size && present.every(([subject]) => expected.has(subject));
  });
}

/** Events of each subject alternate, and repeats say the same. */
function expectOrder(receiver: EventReceiver, userCount = users.length): void {
  const bySubject = Map.groupBy(receiver.distinct(), subjectOf);
  expect([...bySubject.keys()].filter((subject) => subject.startsWith(" ")).length).toBe(userCount);
  for (const [subject, events] of bySubject)
    for (const [index, event] of events.entries())
      expect([subject, index, isComing(event)]).toEqual([subject, index, index % 2 === 0]);
  // Another instance may repeat an event.
  const contentOf = ({ node: _, ...event }: ReceivedEvent) => JSON.stringify(event);
  for (const [id, events] of Map.groupBy(receiver.all(), ({ id }) => id))
    expect([id, new Set(events.map(contentOf)).size]).toEqual([id, 1]);
}

// At the same time, because they mostly wait for evictions and grace periods.
test.concurrent.each(brokers)(
  "two instances over $broker: 1,000 users come and go through kill -9 of gateway and receiver; the last event of each is true, in order",
  async ({ url = "" }) => {
    const receiver = await startReceiver();
    const settings = {
      ...receiver.settings,
      "push-cluster-enabled": "true",
      "push-queue-url": url,
      "push-queue-prefix": freshPrefix(),
    };
    // The first one reports, until it is killed.
    const one = await startGateway("one", settings);
    const two = await startGateway("two", settings);
    const crowd = new Crowd();
    await Promise.all([crowd.come(users.slice(0, 250), one), crowd.come(users.slice(500, 750), two)]);
    await eventually("events arrive", () => receiver.all().length > 0);
    await receiver.kill();
    await Promise.all([crowd.come(users.slice(250, 500), one), crowd.come(users.slice(750), two)]);
    await crowd.go([...users.slice(0, 100), ...users.slice(500, 600)]);
    // The events that it stored without an answer are sent again, by the other instance.
    await receiver.startAndDie();
    await one.end("SIGKILL");
    await crowd.gone(users.slice(0, 500));
    await Promise.all([crowd.come(users.slice(100, 200), two), crowd.go(users.slice(600, 700))]);
    await receiver.start();
    await one.start();
    await crowd.come(users.slice(0, 50), one);
    await becomesTrue(receiver, crowd);
    expectOrder(receiver);
    expect(receiver.all().length).toBeGreaterThan(receiver.distinct().length);
  },
);

test.concurrent("one instance: events that nobody has accepted survive kill -9 of gateway and receiver in the log file", async () => {
  const receiver = await startReceiver();
  const gateway = await startGateway("alone", receiver.settings);
  const crowd = new Crowd();
  await crowd.come(users.slice(0, 500), gateway);
  await eventually("events arrive", () => receiver.all().length > 0);
  await receiver.kill();
  await crowd.come(users.slice(500), gateway);
  await crowd.go(users.slice(0, 300));
  await gateway.end("SIGKILL");
  await crowd.gone(users);
  await gateway.start();
  await crowd.come(users.slice(200, 700), gateway);
  await receiver.start();
  await becomesTrue(receiver, crowd);
  expectOrder(receiver);
});

test.concurrent("three workers: one of them reports the users of all, and another one after kill -9", async () => {
  const receiver = await startReceiver();
  const push = await startWorkers(3, { "push-verify-uri": verify.url, ...receiver.settings });
  processes.push(push);
  const crowd = new Crowd();
  await crowd.come(users.slice(0, 200), push);
  await becomesTrue(receiver, crowd);
  // The first one reports. Those whose worker was killed do not come back.
  process.kill(push.workerPids()[0] ?? 0, "SIGKILL");
  await eventually("its connections close", () => crowd.online.size < 200);
  await crowd.come(users.slice(200, 250), push);
  await becomesTrue(receiver, crowd);
  expectOrder(receiver, 250);
});
