import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { StreamClient } from "../support/stream-client.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers } from "../support/worker-instance.ts";

/** Every way in, to every kind of target, over every transport, in every mode; the result is a table in docs/testing.md. */

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");
const verify = startVerifyService();
afterAll(() => verify.stop());

type Client = Pick<PushClient, "close"> & { received(): string[] };
type Role = "member" | "temporary" | "other";

/** The connections of each transport, by their part in the test. */
const roles: Record<Role, string> = {
  member: "code=ann&channel=news",
  temporary: "code=ann&temp=1",
  other: "code=bob",
};

interface Target {
  targetType: string;
  target: string;
  reaches: readonly Role[];
}

const targets: Target[] = [
  { targetType: "all", target: "", reaches: ["member", "temporary", "other"] },
  { targetType: "user", target: "ann", reaches: ["member", "temporary"] },
  { targetType: "temp_user", target: "ann", reaches: ["temporary"] },
  { targetType: "channel", target: "news", reaches: ["member"] },
];

const transports: Record<string, (url: string, query: string) => Promise<Client>> = {
  "WebSocket, raw": async (url, query) => {
    const client = await PushClient.open(`${url.replace("http", "ws")}/ws?${query}`);
    return { close: () => client.close(), received: () => client.frames };
  },
  "WebSocket, v1": async (url, query) => {
    const client = await PushClient.open(`${url.replace("http", "ws")}/ws?${query}`, ["slipway.v1"]);
    await client.receivedType("welcome");
    return { close: () => client.close(), received: () => client.messages };
  },
  "event stream": async (url, query) => {
    const client = await StreamClient.open(`${url}/sse?${query}`);
    await client.receivedType("welcome");
    return { close: () => client.close(), received: () => client.messages };
  },
};

interface Message extends Pick<Target, "targetType" | "target"> {
  data: string;
}

/** A running gateway: the addresses of its instances, and the broker between them. */
interface Gateway {
  urls: string[];
  /** How many times each role connects to each address. */
  clientsEach: number;
  write: ((message: Message) => Promise<void>) | null;
  stop(): Promise<unknown>;
}

async function post(url: string, path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    // Any worker may answer.
    keepalive: false,
  });
  expect([path, answer.status]).toEqual([path, 200]);
}

interface Way {
  /** Null: it does not exist in this mode. */
  send: (gateway: Gateway, url: string) => ((message: Message) => Promise<void>) | null;
  targetTypes?: string[];
  needsQueue?: boolean;
}

const ways: Record<string, Way> = {
  publish: { send: (_, url) => (message) => post(url, "/feign/publish", message) },
  "publish, repeated with its key": {
    send: (_, url) => async (message) => {
      const key = { "idempotency-key": crypto.randomUUID() };
      for (let attempt = 0; attempt < 2; attempt++) await post(url, "/feign/publish", message, key);
    },
  },
  "batch of messages": {
    send: (_, url) => (message) => post(url, "/feign/publishBatch", { messages: [message] }),
  },
  "batch to users": {
    send:
      (_, url) =>
      ({ targetType, target, data }) =>
        post(url, "/feign/publishBatch", { targetType, users: [target, "nobody"], data }),
    targetTypes: ["user", "temp_user"],
  },
  "message on the queue": { send: ({ write }) => write, needsQueue: true },
};

async function startInstances(count: number, settings: Record<string, string>): Promise<PushProcess[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      startPushProcess(`instance-${index}`, { "push-verify-uri": verify.url, ...settings }),
    ),
  );
}

async function startCluster(broker: BrokerUnderTest): Promise<Gateway> {
  const prefix = freshPrefix();
  const instances = await startInstances(2, {
    "push-cluster-enabled": "true",
    "push-queue-url": broker.url,
    "push-queue-prefix": prefix,
  });
  return {
    urls: instances.map(({ url }) => url),
    clientsEach: 1,
    write: (message) => broker.write(prefix, "broadcast", message.target, [JSON.stringify(message)]),
    stop: () => Promise.all(instances.map((each) => each.stop())),
  };
}

const modes: Record<string, () => Promise<Gateway>> = {
  "one process": async () => {
    const [alone] = (await startInstances(1, {})) as [PushProcess];
    return { urls: [alone.url], clientsEach: 1, write: null, stop: () => alone.stop() };
  },
  "three workers": async () => {
    const push = await startWorkers(3, { "push-verify-uri": verify.url });
    // So many that they are at several workers.
    return { urls: [push.url], clientsEach: 6, write: null, stop: () => push.stop() };
  },
  ...(amqpUrl ? { RabbitMQ: () => startCluster(rabbitmqUnderTest(amqpUrl)) } : {}),
  ...(kafkaUrl ? { Kafka: () => startCluster(kafkaUnderTest(kafkaUrl)) } : {}),
};

interface Placed {
  transport: string;
  role: Role;
  client: Client;
}

const last = "the last message";
const textOf = (way: string, { targetType }: Target) => `${way} to ${targetType}`;

/** What was sent in a mode, and to whom it came. */
interface Outcome {
  sent: Map<string, Target>;
  clients: Placed[];
}

async function connectAll({ urls, clientsEach }: Gateway): Promise<Placed[]> {
  const opening = urls.flatMap((url) =>
    Array.from({ length: clientsEach }).flatMap(() =>
      Object.entries(transports).flatMap(([transport, open]) =>
        (Object.keys(roles) as Role[]).map(async (role) => ({
          transport,
          role,
          client: await open(url, roles[role]),
        })),
      ),
    ),
  );
  return Promise.all(opening);
}

async function play(gateway: Gateway): Promise<Outcome> {
  const clients = await connectAll(gateway);
  const sent = new Map<string, Target>();
  let turn = 0;
  for (const [name, { send, targetTypes }] of Object.entries(ways)) {
    for (const target of targets) {
      // Instances take turns.
      const way = send(gateway, gateway.urls[turn++ % gateway.urls.length] ?? "");
      if (!way || (targetTypes && !targetTypes.includes(target.targetType))) continue;
      const data = textOf(name, target);
      await way({ targetType: target.targetType, target: target.target, data });
      sent.set(data, target);
    }
  }
  await post(gateway.urls[0] ?? "", "/feign/publish", { targetType: "all", data: last });
  await eventually("everybody has the last message", () =>
    clients.every(({ client }) => client.received().includes(last)),
  );
  return { sent, clients };
}

const outcomes = new Map<string, Outcome>();
const gateways: Gateway[] = [];

beforeAll(async () => {
  await Promise.all(
    Object.entries(modes).map(async ([mode, start]) => {
      const gateway = await start();
      gateways.push(gateway);
      outcomes.set(mode, await play(gateway));
    }),
  );
});
afterAll(async () => {
  for (const { clients } of outcomes.values()) for (const { client } of clients) client.close();
  await Promise.all(gateways.map((gateway) => gateway.stop()));
});

/** "✓": each connection that it is for got it once, and no other; "—": there is no such way. */
function cell(mode: string, transport: string, way: string, target: Target): "✓" | "✗" | "—" {
  const { sent, clients } = outcomes.get(mode) ?? { sent: new Map<string, Target>(), clients: [] };
  const text = textOf(way, target);
  if (!sent.has(text)) return "—";
  const isRight = clients
    .filter((placed) => placed.transport === transport)
    .every(({ role, client }) => {
      const times = client.received().filter((received) => received === text).length;
      return times === (target.reaches.includes(role) ? 1 : 0);
    });
  return isRight ? "✓" : "✗";
}

/** The targets that each way reaches, in Markdown. */
function tableText(): string {
  const head = ["mode", "transport", ...Object.keys(ways)];
  const rows = Object.keys(modes).flatMap((mode) =>
    Object.keys(transports).map((transport) => [
      mode,
      transport,
      ...Object.keys(ways).map((way) => {
        const reached = targets.filter((target) => cell(mode, transport, way, target) === "✓");
        return reached.map(({ targetType }) => targetType).join(", ") || "—";
      }),
    ]),
  );
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.join("\n");
}

/** Only a cluster has a queue. */
function waysOf(mode: string): [string, Way][] {
  const hasQueue = mode === "RabbitMQ" || mode === "Kafka";
  return Object.entries(ways).filter(([, { needsQueue }]) => hasQueue || !needsQueue);
}

describe.each(Object.keys(modes))("%s", (mode) => {
  describe.each(Object.keys(transports))("%s", (transport) => {
    describe.each(waysOf(mode))("%s", (way, { targetTypes }) => {
      const known = targets.filter(({ targetType }) => targetTypes?.includes(targetType) ?? true);
      test.each(known)("to $targetType: those that it is for, once, and no others", (target) => {
        expect(cell(mode, transport, way, target)).toBe("✓");
      });
    });
  });

  test("messages arrive in the order in which they were sent", () => {
    const { sent, clients } = outcomes.get(mode) ?? { sent: new Map<string, Target>(), clients: [] };
    for (const { role, client } of clients) {
      const expected = [...sent].filter(([, { reaches }]) => reaches.includes(role)).map(([text]) => text);
      expect(client.received()).toEqual([...expected, last]);
    }
  });
});

test.skipIf(!amqpUrl || !kafkaUrl)("docs/testing.md has the table", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/testing.md")).text();
  const table = tableText();
  if (!page.includes(table)) console.log(table);
  expect(page.includes(table)).toBe(true);
});
