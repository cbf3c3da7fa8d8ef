import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrokerUnderTest, kafkaUnderTest, rabbitmqUnderTest } from "../test/support/buses.ts";
import { eventually } from "../test/support/eventually.ts";
import { startKafka } from "../test/support/kafka.ts";
import { startRabbitmq } from "../test/support/rabbitmq.ts";
import { type Benchmark, type BenchmarkResult, digits, median } from "./benchmark.ts";
import { type BareClient, bareKafka, bareRabbitmq, padding } from "./peers/bare-brokers.ts";
import { type ServerProcess, startServer, startVerifyService } from "./server-process.ts";

const rounds = 5;
const tripsPerRound = 300;
const messagesPerRound = 20_000;
const inFlight = 1_000;
const startPrefix = "bench.start";
/** Five minutes, the time for which idempotency keys are known, at 2,000 messages a second. */
const recordsInWindow = 300 * 2_000;

const brokers = [
  { name: "RabbitMQ", start: startRabbitmq, under: rabbitmqUnderTest, bare: bareRabbitmq },
  { name: "Kafka", start: startKafka, under: kafkaUnderTest, bare: bareKafka },
];

export const queueThroughBroker: Benchmark = {
  name: "bus",
  title: "Through the message queue",
  method: `Latency: from \`POST /feign/publish\` at one instance to the frame at a WebSocket of another, one message at a time, against the client library alone (confirmed publish, own consumer) in turns of ${tripsPerRound} in the same run. Throughput: confirmed publishes of 200 bytes at the bus interface, ${inFlight.toLocaleString("en-US")} in flight, against the library used as its documentation does it fast (RabbitMQ: as many in flight; Kafka: batches of as many). Both durable, with a stream or one partition; brokers on the same machine. The median of ${rounds} rounds counts. Start: ${recordsInWindow.toLocaleString("en-US")} messages of 200 bytes are in the log, as after five minutes at 2,000 a second; the time from the start of a process until \`/readyz\` answers 200.`,
  async run(progress) {
    const result: BenchmarkResult = { figures: [], tables: [], plots: [] };
    const latencies: string[][] = [];
    const rates: string[][] = [];
    const starts: string[][] = [];
    for (const { name, start, under, bare } of brokers) {
      const service = await start();
      try {
        const library = await bare(service.url, "bench.bare");
        const latency = await measureLatency(service.url, library, (round) =>
          progress(`${name}, latency ${round}`),
        );
        const rate = await measureRate(under(service.url), library, (round) =>
          progress(`${name}, rate ${round}`),
        );
        await library.close();
        progress(`${name}, start`);
        const start = await measureStart(service.url, under(service.url));
        starts.push([name, digits(start)]);
        latencies.push(
          [name, "library alone", digits(latency.bare.p50), digits(latency.bare.p99)],
          [name, "Slipway, front door", digits(latency.ours.p50), digits(latency.ours.p99)],
        );
        rates.push([name, "library alone", digits(rate.bare)], [name, "Slipway's bus", digits(rate.ours)]);
        result.figures.push(...figuresOf(name, latency, rate, start));
      } finally {
        await service.stop();
      }
    }
    result.tables.push(
      {
        title: "Publish to receive, one message at a time, milliseconds",
        head: ["broker", "", "p50", "p99"],
        rows: latencies,
      },
      { title: "Confirmed publishes per second", head: ["broker", "", "per second"], rows: rates },
      { title: "Seconds until ready", head: ["broker", "seconds"], rows: starts },
    );
    return result;
  },
};

interface Spread {
  p50: number;
  p99: number;
}

function figuresOf(
  name: string,
  latency: Pair<Spread>,
  rate: Pair<number>,
  startSeconds: number,
): BenchmarkResult["figures"] {
  const p50 = latency.ours.p50 / latency.bare.p50;
  const p99 = latency.ours.p99 / latency.bare.p99;
  const share = rate.ours / rate.bare;
  return [
    {
      name: `publish to receive through ${name}, p50 and p99`,
      measured: `${digits(p50)} × and ${digits(p99)} × the library`,
      toReach: "≤ 3 × the library alone",
      isReached: p50 <= 3 && p99 <= 3,
    },
    {
      name: `confirmed publishes through ${name}`,
      measured: `${digits(rate.ours)} per second, ${digits(share)} × the library`,
      toReach: "≥ 0.7 × the library alone",
      isReached: share >= 0.7,
    },
    {
      name: `ready after a start over ${name}`,
      measured: `${digits(startSeconds)} s`,
      toReach: "≤ 5 s",
      isReached: startSeconds <= 5,
    },
  ];
}

interface Pair<T> {
  ours: T;
  bare: T;
}

async function measureLatency(
  queueUrl: string,
  library: BareClient,
  progress: (round: number) => void,
): Promise<Pair<Spread>> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-queue-"));
  const verify = await startVerifyService();
  const instances = await Promise.all(
    ["one", "two"].map((instance) => startInstance(instance, verify.url, queueUrl, join(folder, instance))),
  );
  try {
    const [one, two] = instances as [ServerProcess, ServerProcess];
    const trip = await frontDoorTrip(one.url, two.url);
    const bareTrip = libraryTrip(library);
    const samples = { ours: [] as number[][], bare: [] as number[][] };
    for (let round = 0; round <= rounds; round++) {
      progress(round);
      const bare = await timesOf(bareTrip);
      const ours = await timesOf(trip.once);
      if (round === 0) continue;
      samples.bare.push(bare);
      samples.ours.push(ours);
    }
    trip.close();
    return { ours: spreadOf(samples.ours), bare: spreadOf(samples.bare) };
  } finally {
    await Promise.all([verify, ...instances].map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startInstance(
  instance: string,
  verifyUri: string,
  queueUrl: string,
  dataDir: string,
  prefix = "slipway",
): Promise<ServerProcess> {
  const server = await startServer("Slipway", [process.execPath, "src/main.ts", "push"], {
    SLIPWAY_SERVER_LISTEN: "127.0.0.1:0",
    SLIPWAY_DATA_DIR: dataDir,
    SLIPWAY_PUSH_VERIFY_URI: verifyUri,
    SLIPWAY_PUSH_CLUSTER_ENABLED: "true",
    SLIPWAY_PUSH_QUEUE_URL: queueUrl,
    SLIPWAY_PUSH_QUEUE_INSTANCE_ID: instance,
    SLIPWAY_PUSH_QUEUE_PREFIX: prefix,
  });
  await eventually("the instance is ready", async () => (await fetch(`${server.url}/readyz`)).status === 200);
  return server;
}

/** Publishes at one instance and receives at the other. */
async function frontDoorTrip(
  publishUrl: string,
  listenUrl: string,
): Promise<{ once(id: string): Promise<void>; close(): void }> {
  const socket = new WebSocket(`${listenUrl.replace("http", "ws")}/ws?code=anna`);
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  let arrived: ((id: string) => void) | undefined;
  socket.onmessage = ({ data }) => arrived?.(String(data).slice(0, -padding.length));
  return {
    close: () => socket.close(),
    async once(id) {
      const received = new Promise<void>((resolve) => {
        arrived = (heard) => heard === id && resolve();
      });
      const answer = await fetch(`${publishUrl}/feign/publish`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ targetType: "user", target: "anna", data: id + padding }),
      });
      await answer.arrayBuffer();
      await received;
    },
  };
}

/** Publishes and receives with the library; ends when the message is confirmed and received, as `frontDoorTrip` does. */
function libraryTrip(library: BareClient): (id: string) => Promise<void> {
  return async (id) => {
    const received = new Promise<void>((resolve) => {
      library.onReceive((heard) => heard === id && resolve());
    });
    await library.send([id]);
    await received;
  };
}

async function timesOf(trip: (id: string) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < tripsPerRound; index++) {
    const startedAt = performance.now();
    await trip(crypto.randomUUID());
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** The median over the rounds, so that one disturbed round does not change the result. */
function spreadOf(samples: number[][]): Spread {
  const at = (share: number) =>
    median(samples.map((times) => times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0));
  return { p50: at(0.5), p99: at(0.99) };
}

async function measureRate(
  broker: BrokerUnderTest,
  library: BareClient,
  progress: (round: number) => void,
): Promise<Pair<number>> {
  const bus = broker.bus({ prefix: "bench.bus", instanceId: "one" });
  bus.broadcast.read(300_000, { receive: () => undefined, caughtUp() {}, lost() {} });
  bus.start();
  await eventually("the bus is ready", () => bus.state().ready);
  library.onReceive(() => {});
  const samples = { ours: [] as number[], bare: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    progress(round);
    const bare = await rateOf(library.calls, library.batch, (ids) => library.send(ids));
    const ours = await rateOf(inFlight, 1, async ([id = ""]) => {
      const value = { id, padding };
      await bus.broadcast.append(value);
    });
    if (round === 0) continue;
    samples.bare.push(bare);
    samples.ours.push(ours);
  }
  await bus.close();
  return { ours: median(samples.ours), bare: median(samples.bare) };
}

async function rateOf(calls: number, batch: number, send: (ids: string[]) => Promise<void>): Promise<number> {
  let left = messagesPerRound;
  const startedAt = performance.now();
  const lane = async () => {
    while (left > 0) {
      left -= batch;
      await send(Array.from({ length: batch }, () => crypto.randomUUID()));
    }
  };
  await Promise.all(Array.from({ length: calls }, lane));
  return (messagesPerRound / (performance.now() - startedAt)) * 1_000;
}

/** Seconds until a new instance has read the log and is ready. */
async function measureStart(queueUrl: string, broker: BrokerUnderTest): Promise<number> {
  const bus = broker.bus({ prefix: startPrefix, instanceId: "writer" });
  bus.broadcast.read(1_000, { receive: () => undefined, caughtUp() {}, lost() {} });
  bus.start();
  await eventually("the bus is ready", () => bus.state().ready);
  const data = "x".repeat(200);
  const base = { v: 1, node: "writer", targetType: "user", target: "anna", data } as const;
  let seq = 0;
  const lane = async () => {
    while (seq < recordsInWindow) {
      seq++;
      const message = { ...base, id: `bench-${seq}`, seq, ts: Date.now() };
      await bus.broadcast.append(message);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  await bus.close();
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-start-"));
  const verify = await startVerifyService();
  const startedAt = performance.now();
  const instance = await startInstance("starting", verify.url, queueUrl, folder, startPrefix);
  const seconds = (performance.now() - startedAt) / 1_000;
  await Promise.all([instance.stop(), verify.stop()]);
  rmSync(folder, { recursive: true, force: true });
  return seconds;
}
