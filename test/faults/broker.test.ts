import { afterAll, describe, expect, test } from "bun:test";
import type { Bus } from "../../src/bus/bus.ts";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startKafka } from "../support/kafka.ts";
import { pick } from "../support/length.ts";
import { startRabbitmq } from "../support/rabbitmq.ts";
import type { RunningService } from "../support/service-process.ts";

const kills = pick(2, 10);
const pauseMs = pick(6_000, 20_000);
/** What is promised, and what a loaded machine may add to it. */
const resumeWithinMs = 5_000;
const answerWithinMs = 5_000;
const toleranceMs = 2_000;

const running: { service: RunningService; buses: Bus[] }[] = [];

afterAll(async () => {
  for (const { service, buses } of running) {
    await Promise.all(buses.map((bus) => bus.close()));
    await service.stop();
  }
});

interface Receiver {
  bus: Bus;
  ids: Map<string, number>;
}

async function openReceivers(broker: BrokerUnderTest, count: number): Promise<Receiver[]> {
  const prefix = freshPrefix();
  const receivers = Array.from({ length: count }, (_, index) => {
    const bus = broker.bus({ prefix, instanceId: `instance-${index}` });
    const ids = new Map<string, number>();
    bus.subscribe("broadcast", (messages) => {
      for (const { id } of messages as { id: string }[]) ids.set(id, (ids.get(id) ?? 0) + 1);
    });
    bus.subscribe("control", () => {});
    bus.start();
    return { bus, ids };
  });
  await eventually("all are ready", () => receivers.every(({ bus }) => bus.state().ready));
  return receivers;
}

/** Publishes all the time through every bus in turn and keeps what was confirmed. */
class Load {
  readonly confirmed: string[] = [];
  refused = 0;
  slowestRefusalMs = 0;
  #isOver = false;
  readonly #running: Promise<unknown>;

  constructor(receivers: Receiver[]) {
    this.#running = Promise.all(
      receivers.map(({ bus }, index) => this.#publishThrough(bus, `user:${index}`)),
    );
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #publishThrough(bus: Bus, key: string): Promise<void> {
    while (!this.#isOver) {
      const startedAt = performance.now();
      const turn = Array.from({ length: 20 }, () => this.#publishOne(bus, key, startedAt));
      await Promise.all(turn);
      await Bun.sleep(10);
    }
  }

  async #publishOne(bus: Bus, key: string, startedAt: number): Promise<void> {
    const id = crypto.randomUUID();
    try {
      await bus.publish("broadcast", key, { id });
      this.confirmed.push(id);
    } catch {
      this.refused += 1;
      this.slowestRefusalMs = Math.max(this.slowestRefusalMs, performance.now() - startedAt);
    }
  }
}

/** When a client library alone first gets a confirmation from the broker that is coming back. */
async function firstBareConfirmation(broker: BrokerUnderTest): Promise<number> {
  await eventually(
    "a bare client is confirmed",
    () =>
      broker.probe().then(
        () => true,
        () => false,
      ),
    60_000,
  );
  return performance.now();
}

function faults(name: string, start: () => Promise<RunningService>, under: (url: string) => BrokerUnderTest) {
  describe(`when ${name} fails`, () => {
    test(
      `killed ${kills} times under load: what was confirmed arrives, the rest is refused in time, consuming resumes`,
      async () => {
        const service = await start();
        const broker = under(service.url);
        const receivers = await openReceivers(broker, 2);
        running.push({ service, buses: receivers.map(({ bus }) => bus) });
        const load = new Load(receivers);
        for (let kill = 0; kill < kills; kill++) {
          const before = load.confirmed.length;
          await eventually("messages flow", () => load.confirmed.length > before + 200, 30_000);
          await service.kill();
          const refusedBefore = load.refused;
          await eventually("publishes are refused", () => load.refused > refusedBefore);
          const back = service.restart();
          const bareAt = await firstBareConfirmation(broker);
          await eventually(
            "all are ready again",
            () => receivers.every(({ bus }) => bus.state().ready),
            30_000,
          );
          expect(performance.now() - bareAt).toBeLessThan(resumeWithinMs + toleranceMs);
          await back;
        }
        const before = load.confirmed.length;
        await eventually("messages flow", () => load.confirmed.length > before + 200, 30_000);
        await load.end();
        expect(load.slowestRefusalMs).toBeLessThan(answerWithinMs);
        for (const { ids } of receivers) {
          const missing = () => load.confirmed.filter((id) => !ids.has(id));
          await eventually("all that was confirmed arrived", () => missing().length === 0).catch(() => {});
          expect(missing()).toEqual([]);
          expect([...ids.values()].filter((count) => count > 1)).toEqual([]);
        }
      },
      pick(120_000, 600_000),
    );

    test(
      "paused: publishes are refused in time, and it recovers by itself",
      async () => {
        const service = running.at(-1)?.service as RunningService;
        const broker = under(service.url);
        const receivers = await openReceivers(broker, 2);
        running.at(-1)?.buses.push(...receivers.map(({ bus }) => bus));
        const load = new Load(receivers);
        await eventually("messages flow", () => load.confirmed.length > 200);
        service.pause();
        const pausedAt = performance.now();
        await eventually("publishes are refused", () => load.refused > 0);
        await eventually("the pause is over", () => performance.now() - pausedAt > pauseMs, pauseMs + 1_000);
        service.resume();
        await eventually(
          "all are ready again",
          () => receivers.every(({ bus }) => bus.state().ready),
          30_000,
        );
        const before = load.confirmed.length;
        await eventually("messages flow", () => load.confirmed.length > before + 200, 30_000);
        await load.end();
        expect(load.slowestRefusalMs).toBeLessThan(answerWithinMs);
        for (const { ids } of receivers) {
          await eventually("all that was confirmed arrived", () => load.confirmed.every((id) => ids.has(id)));
        }
      },
      pick(60_000, 120_000),
    );
  });
}

faults("RabbitMQ", startRabbitmq, rabbitmqUnderTest);
faults("Kafka", startKafka, kafkaUnderTest);
