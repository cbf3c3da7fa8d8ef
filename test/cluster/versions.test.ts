import { afterEach, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { leanMetrics, selfContainedKafka } from "../../scripts/bundle-plugins.ts";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { main } from "../support/program.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startVerifyService } from "../support/verify-service.ts";

interface Broker {
  name: string;
  url: string | undefined;
}

const root = join(import.meta.dir, "../..");
const brokers: Broker[] = [
  { name: "RabbitMQ", url: await serviceUrl("amqp") },
  { name: "Kafka", url: await serviceUrl("kafka") },
].filter(({ url }) => url !== undefined);

/** This version, the next one, which can read another version of records, and the one after it, which also writes it. */
const programs = { current: main, next: "", afterNext: "" };

/** The program of these sources with other versions of records. */
async function buildWith(versions: { written: number; readable: number }): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    root: join(root, "src"),
    outdir: temporaryFolder("later-version"),
    target: "bun",
    format: "cjs",
    plugins: [selfContainedKafka, leanMetrics],
    define: { builtRecordVersions: JSON.stringify(versions) },
  });
  return outputs[0]?.path ?? "";
}

beforeAll(async () => {
  programs.next = await buildWith({ written: 1, readable: 2 });
  programs.afterNext = await buildWith({ written: 2, readable: 2 });
});

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A `slipway.v1` client that returns with the position that it has. */
class Returning {
  readonly #userId: string;
  readonly recovered: unknown[] = [];
  readonly #earlier: string[] = [];
  #client: PushClient | undefined;

  constructor(userId: string) {
    this.#userId = userId;
  }

  get received(): string[] {
    return [...this.#earlier, ...(this.#client?.messages ?? [])];
  }

  async connect({ url }: PushProcess): Promise<void> {
    const [before] = this.#client?.ofType("welcome") ?? [];
    const position = this.#client?.ofType("message").at(-1)?.position ?? before?.lastId;
    this.#earlier.push(...(this.#client?.messages ?? []));
    this.#client?.close();
    const resume = position === undefined ? "" : `&resume=${position}`;
    const address = `${url.replace("http", "ws")}/ws?code=${this.#userId}${resume}`;
    const client = await PushClient.open(address, ["slipway.v1"]);
    this.#client = client;
    stops.push(() => client.close());
    const [welcome] = await client.receivedType("welcome");
    if (position !== undefined) this.recovered.push(welcome?.recovered);
  }

  async ended(): Promise<void> {
    await eventually("the connection ends", () => this.#client?.closed !== null);
  }
}

async function publish({ url }: PushProcess, data: string, userId?: string): Promise<void> {
  const target = userId === undefined ? { targetType: "all" } : { targetType: "user", target: userId };
  const answer = await fetch(`${url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...target, data }),
  });
  expect(answer.status).toBe(200);
}

/** Starts instances of one cluster. An instance that replaces another one gets the same name. */
function newCluster({ name: broker, url = "" }: Broker) {
  const verify = startVerifyService();
  stops.push(() => verify.stop());
  const settings = {
    "push-verify-uri": verify.url,
    "push-drain-period": "0s",
    "push-cluster-enabled": "true",
    "push-queue-url": url,
    "push-queue-prefix": freshPrefix(),
  };
  return async (name: string, program: string): Promise<PushProcess> => {
    const id = `${broker}-${name}`;
    const command = [process.execPath, program];
    const instance = await startPushProcess(id, { ...settings, "push-queue-instance-id": id }, command);
    stops.push(() => instance.stop());
    return instance;
  };
}

async function restartThroughNeighbours(broker: Broker): Promise<void> {
  const start = newCluster(broker);
  const instances = [await start("one", programs.current), await start("two", programs.current)];
  const at = (index: number) => instances[index % 2] as PushProcess;
  const clients = [new Returning("ann"), new Returning("bob")];
  for (const [index, client] of clients.entries()) await client.connect(at(index));
  const sent: string[] = [];
  const send = async (instance: PushProcess) => {
    const text = `message ${sent.length} by ${instance.name}`;
    sent.push(text);
    await publish(instance, text);
  };
  // Up to the next version, on to the one after it, and back.
  for (const program of [programs.next, programs.afterNext, programs.next, programs.current]) {
    for (const [index, client] of clients.entries()) {
      const other = at(index + 1);
      await send(at(index));
      await send(other);
      await at(index).end("SIGTERM");
      await client.ended();
      await send(other);
      await client.connect(other);
      await send(other);
      instances[index] = await start(index === 0 ? "one" : "two", program);
      // Both directions between the old and the new version.
      await send(at(index));
      await send(other);
      await client.connect(at(index));
      await eventually("both instances list the same users", async () => {
        const seen = await Promise.all(
          instances.map(({ get }) => get<{ data: string[] }>("/feign/getOnlineUsers?scope=cluster")),
        );
        return seen.every(({ data }) => data.length === 2);
      });
    }
    for (const instance of instances) expect(await instance.isReady()).toBe(true);
  }
  for (const client of clients) {
    await eventually("everything has arrived", () => client.received.length >= sent.length);
    expect(client.received).toEqual(sent);
    expect(client.recovered).toEqual(Array(client.recovered.length).fill(true));
  }
}

async function runFurtherApart(broker: Broker): Promise<void> {
  const start = newCluster(broker);
  const earlier = await start("earlier", programs.current);
  const [ann, bob, cid] = [new Returning("ann"), new Returning("bob"), new Returning("cid")];
  for (const client of [ann, bob]) await client.connect(earlier);
  await publish(earlier, "before");
  await eventually("it arrives", () => bob.received.includes("before"));
  const later = await start("later", programs.afterNext);
  await eventually("the earlier one is not ready", async () => !(await earlier.isReady()));
  expect(await (await fetch(`${earlier.url}/readyz`)).text()).toBe(
    "queue: instances of a later version write records of version 2, and this one reads up to version 1: its clients miss messages. Upgrade it, or stop the later ones\n",
  );
  expect(await later.isReady()).toBe(true);
  await cid.connect(later);
  await publish(later, "of the later one");
  await publish(earlier, "of the earlier one", "ann");
  await eventually("the last one arrives", () => ann.received.includes("of the earlier one"));
  expect(ann.received).toEqual(["before", "of the earlier one"]);

  // What it could not deliver is counted, logged, and not hidden from a client that resumes.
  const metrics = await (await fetch(`${earlier.url}/metrics`)).text();
  expect(metrics).toMatch(/^slipway_push_later_version_total [1-9]/m);
  expect(metrics).toMatch(/^slipway_push_losses_total 1$/m);
  expect(earlier.output()).toContain("instances of a later version write records of version 2");
  await bob.connect(earlier);
  expect(bob.recovered).toEqual([false]);
  await eventually("it arrives there", () => cid.received.includes("of the later one"));
  await cid.connect(earlier);
  expect(cid.recovered).toEqual([true]);

  await later.end("SIGTERM");
  await eventually("the earlier one is ready again", () => earlier.isReady());
  // A restart reads the records of the later version again.
  await earlier.end("SIGTERM");
  await earlier.start();
  await ann.ended();
  await ann.connect(earlier);
  await publish(earlier, "after");
  await eventually("it serves", () => ann.received.includes("after"));
}

const restartLimitMs = 5 * 60_000;

// Over all brokers at the same time, because most of it is waiting.
test.skipIf(brokers.length === 0)(
  "neighbouring versions run together: rolling restarts up and down lose nothing, in both directions",
  () => Promise.all(brokers.map(restartThroughNeighbours)).then(() => {}),
  restartLimitMs,
);

test.skipIf(brokers.length === 0)(
  "of versions that are further apart, the earlier one says so, serves on, and recovers when the later one is gone",
  () => Promise.all(brokers.map(runFurtherApart)).then(() => {}),
  restartLimitMs,
);
