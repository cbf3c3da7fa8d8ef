import { afterEach, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";

interface Mode {
  name: string;
  instances: number;
  settings: (prefix: string) => Record<string, string>;
}

const clustered = (url: string) => (prefix: string) => ({
  "push-cluster-enabled": "true",
  "push-queue-url": url,
  "push-queue-prefix": prefix,
});
const brokers = [
  { name: "three instances over RabbitMQ", url: await serviceUrl("amqp") },
  { name: "three instances over Kafka", url: await serviceUrl("kafka") },
].filter(({ url }) => url !== undefined);
const modes: Mode[] = [
  { name: "one instance with its file", instances: 1, settings: () => ({}) },
  { name: "three workers", instances: 1, settings: () => ({ "push-workers": "3" }) },
  ...brokers.map(({ name, url = "" }) => ({ name, instances: 3, settings: clustered(url) })),
];

const clientCount = pick(120, 2_000);

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** An idle `slipway.v1` client that returns with the position it has. */
class Returning {
  readonly #userId: string;
  readonly recovered: unknown[] = [];
  readonly messages: string[] = [];
  #client: PushClient | undefined;

  constructor(userId: string) {
    this.#userId = userId;
  }

  get isClosed(): boolean {
    return this.#client?.closed !== null;
  }

  async connect({ url }: PushProcess): Promise<void> {
    const position = this.#position;
    this.#takeMessages();
    const resume = position === undefined ? "" : `&resume=${position}`;
    const address = `${url.replace("http", "ws")}/ws?code=${this.#userId}${resume}`;
    this.#client = await PushClient.open(address, ["slipway.v1"]);
    const [welcome] = await this.#client.receivedType("welcome");
    if (position !== undefined) this.recovered.push(welcome?.recovered);
    const client = this.#client;
    stops.push(() => client.close());
  }

  async receives(text: string): Promise<void> {
    await eventually(`${text} arrives`, () => this.#client?.messages.includes(text) ?? false);
  }

  /** All messages so far, over all connections. */
  received(): string[] {
    return [...this.messages, ...(this.#client?.messages ?? [])];
  }

  get #position(): unknown {
    const [welcome] = this.#client?.ofType("welcome") ?? [];
    return this.#client?.ofType("message").at(-1)?.position ?? welcome?.lastId;
  }

  #takeMessages(): void {
    this.messages.push(...(this.#client?.messages ?? []));
  }
}

async function publishToAll(instance: PushProcess, data: string): Promise<void> {
  const answer = await fetch(`${instance.url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ targetType: "all", data }),
  });
  expect(answer.status).toBe(200);
}

async function inSlices(clients: Returning[], work: (client: Returning, index: number) => Promise<void>) {
  for (let from = 0; from < clients.length; from += 100)
    await Promise.all(clients.slice(from, from + 100).map((client, index) => work(client, from + index)));
}

describe.each(modes)("idle clients of $name", ({ instances: count, settings }) => {
  async function start() {
    const verify = startVerifyService();
    stops.push(() => verify.stop());
    const prefix = freshPrefix();
    const instances: PushProcess[] = [];
    for (let index = 0; index < count; index++) {
      const given = { "push-verify-uri": verify.url, ...settings(prefix) };
      const instance = await startPushProcess(`gateway-${index}`, given);
      stops.push(() => instance.stop());
      instances.push(instance);
    }
    const at = (index: number) => instances[index % count] as PushProcess;
    const clients = Array.from({ length: clientCount }, (_, index) => new Returning(`user-${index}`));
    await inSlices(clients, (client, index) => client.connect(at(index)));
    return { instances, clients, at };
  }

  /** Every client was answered `recovered: true` at each return, and got each message once, in order. */
  function expectNothingMissing(clients: Returning[], texts: string[]): void {
    expect(clients.filter(({ recovered }) => recovered.length === 0 || recovered.includes(false))).toEqual(
      [],
    );
    const wrong = clients.map((client) => client.received()).filter((got) => got.join() !== texts.join());
    expect(wrong).toEqual([]);
  }

  test("miss nothing if every instance is restarted, one after the other", async () => {
    const { instances, clients, at } = await start();
    const texts: string[] = [];
    for (const [index, instance] of instances.entries()) {
      await instance.end("SIGTERM");
      if (count === 1) await instance.start();
      texts.push(`while ${index} was away`);
      await publishToAll(at(index + 1), texts.at(-1) ?? "");
      const closed = clients.filter(({ isClosed }) => isClosed);
      expect(closed.length).toBeGreaterThan(0);
      await inSlices(closed, (client, place) =>
        client.connect(count === 1 ? at(0) : at(index + 1 + (place % 2))),
      );
      if (count > 1) await instance.start();
    }
    for (const client of clients) await client.receives(texts.at(-1) ?? "");
    expectNothingMissing(clients, texts);
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "miss nothing if all instances end at once with %s",
    async (signal) => {
      const { instances, clients, at } = await start();
      await Promise.all(instances.map((instance) => instance.end(signal)));
      await eventually("all are closed", () => clients.every(({ isClosed }) => isClosed));
      await Promise.all(instances.map((instance) => instance.start()));
      await publishToAll(at(0), "in between");
      await inSlices(clients, (client, index) => client.connect(at(index + 1)));
      await publishToAll(at(0), "afterwards");
      for (const client of clients) await client.receives("afterwards");
      expectNothingMissing(clients, ["in between", "afterwards"]);
    },
  );
});
