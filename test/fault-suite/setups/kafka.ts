import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  Consumer,
  ResourcePatternTypes,
  ResourceTypes,
} from "@platformatic/kafka";
import { apiVersionsRequest } from "../../support/kafka.ts";
import { answers } from "../../support/service-process.ts";
import type { Surroundings } from "../surroundings.ts";
import { queuePrefix, startGateways } from "./gateways.ts";
import { operator, startKafkaNodes } from "./kafka-brokers.ts";
import { Link } from "./link.ts";
import type { Part } from "./part.ts";
import { timePasses } from "./part.ts";
import { servicePart } from "./service-part.ts";
import type { BrokerControl, PresenceReader, World } from "./world.ts";

const gatewayCount = 3;
const brokerCount = 3;
const quietMs = 700;

/** Three gateways on three Kafka brokers. */
export async function kafkaWorld(around: Surroundings): Promise<World> {
  const ways = Array.from({ length: gatewayCount }, (_, index) => ({
    name: `gateway ${index + 1} → kafka`,
    links: [] as Link[],
  }));
  const nodes = await startKafkaNodes({
    brokers: brokerCount,
    gateways: gatewayCount,
    async announce(gateway, broker, port) {
      const link = await Link.open(`gateway ${gateway} → kafka ${broker}`, port);
      ways[gateway - 1]?.links.push(link);
      return link.port;
    },
  });
  const gateways = await startGateways(
    around,
    ways.map(({ name, links }) => ({
      url: `kafka://${links.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
      link: {
        name,
        set(state) {
          for (const link of links) link.set(state);
        },
      },
    })),
  );
  const brokers = nodes.map(({ service, port }, index) =>
    servicePart(service, {
      name: `kafka ${index + 1}`,
      role: "kafka",
      politeSignal: "SIGTERM",
      isReady: () => answers(port, apiVersionsRequest),
    }),
  );
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  return {
    setup: "kafka",
    program: around.program,
    folder: around.folder,
    timeline: around.timeline,
    parts: [...brokers, ...gateways.instances.map(({ part }) => part)],
    instances: gateways.instances,
    // Also each link alone: a gateway then reaches only some of the leaders.
    links: [...gateways.links, ...ways.flatMap(({ links }) => links)],
    runnerTokens: [],
    leaseMs: 5_000,
    knowsReleases: false,
    steps: [],
    services: [],
    broker: controlOf(addresses, brokers),
    presenceEvents: readerOf(addresses),
    async stop() {
      await gateways.stop();
      await Promise.all(nodes.map(({ service }) => service.stop()));
    },
  };
}

function controlOf(addresses: string[], brokers: Part[]): BrokerControl {
  const topic = {
    resourceType: ResourceTypes.TOPIC,
    resourceName: `${queuePrefix}.broadcast`,
    resourcePatternType: ResourcePatternTypes.LITERAL,
  };
  const denial = {
    principal: "User:ANONYMOUS",
    host: "*",
    operation: AclOperations.ALL,
    permissionType: AclPermissionTypes.DENY,
  };
  return {
    revoke: () => asAdmin(addresses, (admin) => admin.createAcls({ creations: [{ ...topic, ...denial }] })),
    async grant() {
      await asAdmin(addresses, (admin) => admin.deleteAcls({ filters: [{ ...topic, ...denial }] }));
    },
    async leader() {
      const { topics } = await asAdmin(addresses, (admin) =>
        admin.metadata({ topics: [topic.resourceName], forceUpdate: true }),
      );
      const leader = topics.get(topic.resourceName)?.partitions[0]?.leader ?? 1;
      return brokers[leader - 1] as Part;
    },
  };
}

/** Reads the whole topic each time, so that no consumer group has to survive the faults. */
function readerOf(addresses: string[]): PresenceReader {
  let known = 0;
  return {
    async readNew() {
      const all = await readTopic(addresses, `${queuePrefix}.events`);
      const fresh = all.slice(known);
      known = Math.max(known, all.length);
      return fresh;
    },
  };
}

async function readTopic(addresses: string[], topic: string): Promise<Record<string, unknown>[]> {
  const messages: Record<string, unknown>[] = [];
  const consumer = new Consumer({
    clientId: "observer",
    groupId: `observer-${crypto.randomUUID()}`,
    bootstrapBrokers: addresses,
    sasl: operator,
    retries: 5,
  });
  try {
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", maxWaitTime: 50 });
    let heardAt = performance.now();
    stream.on("data", (message) => {
      heardAt = performance.now();
      messages.push(JSON.parse(message.value.toString()) as Record<string, unknown>);
    });
    while (performance.now() - heardAt < quietMs) await timePasses(50);
    await stream.close();
  } finally {
    await consumer.close(true).catch(() => {});
  }
  return messages;
}

async function asAdmin<T>(addresses: string[], work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: "operator", bootstrapBrokers: addresses, sasl: operator, retries: 10 });
  try {
    return await work(admin);
  } finally {
    await admin.close().catch(() => {});
  }
}
