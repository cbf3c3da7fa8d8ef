import { expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../support/eventually.ts";
import { startKafka } from "../support/kafka.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRabbitmq } from "../support/rabbitmq.ts";
import type { RunningService } from "../support/service-process.ts";

function accepts(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** A child that was just forked may hold the port some milliseconds longer than the killed process. */
async function untilRefused(url: string): Promise<void> {
  await eventually(`${url} accepts no connections`, async () => !(await accepts(url)), 10_000);
}

function commandOf(pid: number): Promise<string> {
  return Bun.file(`/proc/${pid}/comm`).text();
}

const brokers: [string, string, () => Promise<RunningService>][] = [
  ["PostgreSQL", "postgres", startPostgres],
  ["RabbitMQ", "beam.smp", startRabbitmq],
  ["Apache Kafka", "java", startKafka],
];

// A service that cannot be started here fails this test, also outside of CI; the error names the way to get it.
test.each(brokers)(
  "a throw-away %s is the broker's own process, which kill -9 ends and restart brings back on the same port",
  async (_name, command, start) => {
    const service = await start();
    try {
      expect((await commandOf(service.pid)).trim()).toBe(command);
      expect(await accepts(service.url)).toBe(true);
      const before = service.pid;
      await service.kill();
      await untilRefused(service.url);
      await service.restart();
      expect(await accepts(service.url)).toBe(true);
      expect(service.pid).not.toBe(before);
    } finally {
      await service.stop();
    }
  },
  180_000,
);
