import { availableParallelism, loadavg } from "node:os";
import { type Benchmark, digits, median, type Table } from "./benchmark.ts";
import { type PeerOrder, type PeerResult, startPeerLoad } from "./peer-load.ts";
import type { PeerServer } from "./peers/peer-process.ts";
import { buildProgram, findPeers, type Peer } from "./peers/peer-servers.ts";
import { startVerifyService } from "./server-process.ts";

const rounds = 3;
const few = 2_000;
const many = 10_000;
const atOnce = 64;
const singles = 100;
const burst = 20;
const bursts = 15;
const floodMessages = 400;
const floodPublishers = 16;

interface Figures {
  coldStartMs: number;
  perAdmissionUs: number;
  admissionsPerSecond: number;
  fewBytes: number;
  manyBytes: number;
  singleUs: number;
  burstUs: number;
  latencyMs: number;
  perSecond: number;
  floodUs: number;
}

export const peers: Benchmark = {
  name: "peers",
  title: "Other servers",
  isLong: true,
  method: `Servers that push messages to browsers, one after the other, ${rounds} rounds, medians; each with its defaults except for limits and pings, nginx with one worker. Found on the PATH or by a variable (\`BENCH_CENTRIFUGO\`, \`BENCH_ANYCABLE_GO\`, \`BENCH_NATS_SERVER\`); nchan is installed from Debian's package. All clients subscribe to one channel; a message has 100 bytes. Slipway asks a verify service for every connection, the others admit everybody. ${few.toLocaleString("en-US")} connections: ${singles} messages one at a time, each after the one before has arrived everywhere; ${bursts} bursts of ${burst}; then ${floodMessages} messages of ${floodPublishers} publishers as fast as they are answered. CPU is that of the server's processes; the load generator, a process of its own, shares the cores, so that deliveries per second say what both reach together. Memory is the proportional set size that each connection adds; cold start is the time until the port accepts a connection.`,
  async run(progress) {
    buildProgram();
    const verify = await startVerifyService();
    const found = await findPeers(verify.url);
    const measured = found.map((): Figures[] => []);
    const loadBefore = loadavg()[0] ?? 0;
    try {
      for (let round = 1; round <= rounds; round++)
        for (const [index, peer] of found.entries()) {
          measured[index]?.push(await measure(peer));
          progress(`round ${round} of ${rounds}: ${peer.name}`);
        }
    } finally {
      await verify.stop();
    }
    const servers = found.map(({ name }, index) => ({ name, ...medians(measured[index] ?? []) }));
    const column = (title: string, heads: [string, (figures: Figures) => string][]) => ({
      title,
      head: ["server", ...heads.map(([head]) => head)],
      rows: servers.map((server) => [server.name, ...heads.map(([, show]) => show(server))]),
    });
    const plot = (file: string, title: string, unit: string, value: (figures: Figures) => number) => ({
      file,
      title,
      unit,
      bars: servers.map((server) => ({ label: server.name, value: value(server) })),
    });
    return {
      figures: [],
      tables: [
        {
          title: "The machine during the run",
          head: ["cores", "load average at the start", "at the end"],
          rows: [[String(availableParallelism()), loadBefore.toFixed(1), (loadavg()[0] ?? 0).toFixed(1)]],
        },
        column("Deliveries", [
          ["µs of CPU, singly", ({ singleUs }) => digits(singleUs)],
          ["µs of CPU, in bursts", ({ burstUs }) => digits(burstUs)],
          ["µs of CPU at saturation", ({ floodUs }) => digits(floodUs)],
          ["deliveries per second at saturation", ({ perSecond }) => digits(perSecond)],
          [
            `ms until all ${few.toLocaleString("en-US")} have a message`,
            ({ latencyMs }) => digits(latencyMs),
          ],
        ]),
        column("Connections", [
          ["µs of CPU per admission", ({ perAdmissionUs }) => digits(perAdmissionUs)],
          ["admissions per second", ({ admissionsPerSecond }) => digits(admissionsPerSecond)],
          [`KB each at ${few.toLocaleString("en-US")}`, ({ fewBytes }) => digits(fewBytes / 1024)],
          [`KB each at ${many.toLocaleString("en-US")}`, ({ manyBytes }) => digits(manyBytes / 1024)],
          ["cold start, ms", ({ coldStartMs }) => digits(coldStartMs)],
        ]),
        lossesOf(servers),
      ],
      plots: [
        plot("performance-peers-single", "CPU per delivery, singly", "µs", ({ singleUs }) => singleUs),
        plot("performance-peers-burst", "CPU per delivery, in bursts", "µs", ({ burstUs }) => burstUs),
        plot("performance-peers-memory", "Memory per connection", "KB", ({ manyBytes }) => manyBytes / 1024),
        plot("performance-peers-admission", "CPU per admission", "µs", (figures) => figures.perAdmissionUs),
        plot("performance-peers-start", "Cold start", "ms", ({ coldStartMs }) => coldStartMs),
      ],
    };
  },
};

const compared: { name: string; of: (figures: Figures) => number; isMoreBetter?: true }[] = [
  { name: "CPU per delivery, singly, µs", of: ({ singleUs }) => singleUs },
  { name: "CPU per delivery, in bursts, µs", of: ({ burstUs }) => burstUs },
  { name: "deliveries per second at saturation", of: ({ perSecond }) => perSecond, isMoreBetter: true },
  { name: "time until all have a message, ms", of: ({ latencyMs }) => latencyMs },
  { name: "CPU per admission, µs", of: ({ perAdmissionUs }) => perAdmissionUs },
  { name: "memory per connection at 10,000, KB", of: ({ manyBytes }) => manyBytes / 1024 },
  { name: "cold start, ms", of: ({ coldStartMs }) => coldStartMs },
];

/** Every figure in which another server is better. */
function lossesOf([own, ...rest]: (Figures & { name: string })[]): Table {
  const rows = compared.flatMap(({ name, of, isMoreBetter }) => {
    if (own === undefined) return [];
    const isBetter = (value: number) => (isMoreBetter ? value > of(own) : value < of(own));
    const better = rest.filter((server) => isBetter(of(server)));
    return better.map((server) => [name, digits(of(own)), server.name, digits(of(server))]);
  });
  return {
    title: "Where another server is better",
    head: ["figure", "Slipway", "server", "its figure"],
    rows,
  };
}

async function measure(peer: Peer): Promise<Figures> {
  const server = await peer.start();
  const load = startPeerLoad();
  const cost = async (order: PeerOrder): Promise<PeerResult & { perUs: number }> => {
    const before = server.cpuSeconds();
    const result = await load.run(order);
    return { ...result, perUs: ((server.cpuSeconds() - before) / result.count) * 1e6 };
  };
  try {
    const { dialect } = server;
    // Warms up code and memory, so that neither counts as the cost of a connection.
    await load.run({ type: "hold", dialect, count: 200, atOnce });
    await load.run({ type: "bursts", dialect, bursts: 20, burst: 1 });
    await load.run({ type: "release" });
    const empty = await settledBytes(server);
    const first = await cost({ type: "hold", dialect, count: few, atOnce });
    const fewBytes = ((await settledBytes(server)) - empty) / few;
    const rest = await cost({ type: "hold", dialect, count: many - few, atOnce });
    const manyBytes = ((await settledBytes(server)) - empty) / many;
    await load.run({ type: "release" });
    await load.run({ type: "hold", dialect, count: few, atOnce });
    const single = await cost({ type: "bursts", dialect, bursts: singles, burst: 1 });
    const together = await cost({ type: "bursts", dialect, bursts, burst });
    const flood = await cost({
      type: "flood",
      dialect,
      messages: floodMessages,
      publishers: floodPublishers,
    });
    return {
      coldStartMs: server.coldStartMs,
      perAdmissionUs: (first.perUs * few + rest.perUs * (many - few)) / many,
      admissionsPerSecond: many / (first.seconds + rest.seconds),
      fewBytes,
      manyBytes,
      singleUs: single.perUs,
      burstUs: together.perUs,
      latencyMs: median(single.latenciesMs),
      perSecond: flood.count / flood.seconds,
      floodUs: flood.perUs,
    };
  } finally {
    await load.stop();
    await server.stop();
  }
}

const settleMs = 1_000;

async function settledBytes(server: PeerServer): Promise<number> {
  await Bun.sleep(settleMs);
  return server.residentBytes();
}

function medians(list: Figures[]): Figures {
  const [first] = list;
  if (first === undefined) throw new Error("There was no round.");
  const names = Object.keys(first) as (keyof Figures)[];
  return Object.fromEntries(
    names.map((name) => [name, median(list.map((figures) => figures[name]))]),
  ) as unknown as Figures;
}
