import { afterEach, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";

const brokers = [
  { name: "RabbitMQ", url: await serviceUrl("amqp") },
  { name: "Kafka", url: await serviceUrl("kafka") },
].filter(({ url }) => url !== undefined);

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function startInstance(name: string, settings: Record<string, string> = {}): Promise<PushProcess> {
  const verify = startVerifyService();
  stops.push(() => verify.stop());
  const instance = await startPushProcess(name, { "push-verify-uri": verify.url, ...settings });
  stops.push(() => instance.stop());
  return instance;
}

async function publish({ url }: PushProcess, key: string, data = "only once") {
  const answer = await fetch(`${url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ targetType: "user", target: "anna", data }),
  });
  const { headers, status } = answer;
  return { status, id: headers.get("x-push-id"), receivers: headers.get("x-push-receivers") };
}

async function connect({ url }: PushProcess): Promise<PushClient> {
  const client = await PushClient.open(`${url.replace("http", "ws")}/ws?code=anna`);
  stops.push(() => client.close());
  return client;
}

/** The repeat does not arrive, the message after it does. A message of an earlier call may still arrive too. */
async function receivesNoRepeat(instance: PushProcess, client: PushClient): Promise<void> {
  const end = `the end of ${crypto.randomUUID()}`;
  expect((await publish(instance, crypto.randomUUID(), end)).status).toBe(200);
  await eventually("the end arrives", () => client.frames.includes(end));
  expect(client.frames.filter((text) => !text.startsWith("the end of"))).toEqual([]);
}

const signals = ["SIGKILL", "SIGTERM"] as const;

describe.each(signals)("a key that was published before %s", (signal) => {
  test("is known by one instance without a queue after its restart", async () => {
    const instance = await startInstance("alone");
    await connect(instance);
    const first = await publish(instance, "order-7");
    expect(first).toMatchObject({ status: 200, receivers: "1" });
    await instance.end(signal);
    await instance.start();
    const client = await connect(instance);
    expect(await publish(instance, "order-7")).toEqual({ ...first, receivers: null });
    expect((await publish(instance, "order-7", "another body")).status).toBe(409);
    await receivesNoRepeat(instance, client);
  });

  describe.each(brokers)("over $name", ({ url = "" }) => {
    const settings = (prefix: string) => ({
      "push-cluster-enabled": "true",
      "push-queue-url": url,
      "push-queue-prefix": prefix,
    });

    test("is known by the only instance after its restart", async () => {
      const instance = await startInstance("only", settings(freshPrefix()));
      const first = await publish(instance, "order-7");
      expect(first.status).toBe(200);
      await instance.end(signal);
      await instance.start();
      const client = await connect(instance);
      expect(await publish(instance, "order-7")).toEqual(first);
      expect((await publish(instance, "order-7", "another body")).status).toBe(409);
      await receivesNoRepeat(instance, client);
    });

    test("is known on an instance that was away, and on a new one, during a rolling restart", async () => {
      const prefix = freshPrefix();
      const [one, two] = await Promise.all([
        startInstance("one", settings(prefix)),
        startInstance("two", settings(prefix)),
      ]);
      const before = await publish(one, "before");
      await one.end(signal);
      const meanwhile = await publish(two, "meanwhile");
      await one.start();
      await two.end(signal);
      const [three] = await Promise.all([startInstance("three", settings(prefix)), two.start()]);
      for (const instance of [one, two, three]) {
        const client = await connect(instance);
        expect(await publish(instance, "before")).toEqual(before);
        expect(await publish(instance, "meanwhile")).toEqual(meanwhile);
        await receivesNoRepeat(instance, client);
        client.close();
      }
    });
  });
});
