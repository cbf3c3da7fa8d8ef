import { Connection } from "rabbitmq-client";
import { memoryLimits, type RunningRabbitmq, startRabbitmq } from "../../support/rabbitmq.ts";
import type { Surroundings } from "../surroundings.ts";
import { queuePrefix, startGateways } from "./gateways.ts";
import { Link } from "./link.ts";
import { servicePart } from "./service-part.ts";
import type { BrokerControl, PresenceReader, World } from "./world.ts";

const gatewayCount = 3;
const observerQueue = "observer";

/** Three gateways on one RabbitMQ. */
export async function rabbitmqWorld(around: Surroundings): Promise<World> {
  const service = await startRabbitmq();
  const port = Number(new URL(service.url).port);
  const ways = await Promise.all(
    Array.from({ length: gatewayCount }, async (_, index) => {
      const link = await Link.open(`gateway ${index + 1} → rabbitmq`, port);
      return { url: `amqp://guest:guest@127.0.0.1:${link.port}`, link };
    }),
  );
  await observe(service.url);
  const gateways = await startGateways(around, ways);
  const rabbitmq = servicePart(service, {
    name: "rabbitmq",
    role: "rabbitmq",
    politeSignal: "SIGTERM",
    isReady: () => withConnection(service.url, async () => true),
  });
  return {
    setup: "rabbitmq",
    program: around.program,
    folder: around.folder,
    timeline: around.timeline,
    parts: [rabbitmq, ...gateways.instances.map(({ part }) => part)],
    instances: gateways.instances,
    links: gateways.links,
    runnerTokens: [],
    leaseMs: 5_000,
    knowsReleases: false,
    steps: [],
    services: [],
    broker: controlOf(service),
    presenceEvents: readerOf(service.url),
    async stop() {
      await gateways.stop();
      await service.stop();
    },
  };
}

function controlOf(service: RunningRabbitmq): BrokerControl {
  const closeConnections = () => service.control("close_all_connections", "by the fault suite");
  return {
    async revoke() {
      await service.control("change_password", "guest", "another password");
      await closeConnections();
    },
    grant: () => service.control("change_password", "guest", "guest"),
    raiseAlarm: () => service.control("set_vm_memory_high_watermark", memoryLimits.alarm),
    clearAlarm: () => service.control("set_vm_memory_high_watermark", memoryLimits.ease),
    closeConnections,
  };
}

/** A durable queue, so that no event is lost while the broker restarts. */
async function observe(url: string): Promise<void> {
  await withConnection(url, async (connection) => {
    const exchange = `${queuePrefix}.events`;
    await connection.exchangeDeclare({ exchange, type: "fanout", durable: true });
    await connection.queueDeclare({ queue: observerQueue, durable: true });
    await connection.queueBind({ queue: observerQueue, exchange });
    return true;
  });
}

function readerOf(url: string): PresenceReader {
  return {
    async readNew() {
      const events: Record<string, unknown>[] = [];
      await withConnection(url, async (connection) => {
        for (;;) {
          const message = await connection.basicGet({ queue: observerQueue, noAck: true });
          if (!message) return true;
          events.push(parsed(message.body));
        }
      });
      return events;
    },
  };
}

function parsed(body: unknown): Record<string, unknown> {
  if (Buffer.isBuffer(body) || typeof body === "string")
    return JSON.parse(body.toString()) as Record<string, unknown>;
  return Object(body) as Record<string, unknown>;
}

async function withConnection<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = new Connection({ url, acquireTimeout: 5_000, connectionTimeout: 5_000 });
  connection.on("error", () => {});
  try {
    return await Promise.race([
      connection.onConnect(5_000, true).then(() => work(connection)),
      // The client library does not give up by itself.
      Bun.sleep(15_000).then(() => {
        throw new Error("RabbitMQ does not answer.");
      }),
    ]);
  } finally {
    connection.unsafeDestroy();
  }
}
