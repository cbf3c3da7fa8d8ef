import { type Benchmark, digits, median } from "./benchmark.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import {
  type ServerProcess,
  startDeliveringBun,
  startNodeWs,
  startSlipway,
  startVerifyService,
} from "./server-process.ts";

const connections = 15_000;
const fewUsers = 100;
const publishes = 20_000;
const rounds = 5;

/** Time for the runtime to collect garbage and return memory. */
const settleMs = 5_000;

export const connectionCost: Benchmark = {
  name: "connections",
  title: "Many connections",
  method: `${connections.toLocaleString("en-US")} connections, each of a user of its own, opened by two load generators. Memory is the growth of resident memory of the process per connection, idle, after ${settleMs / 1000} s; the kernel's socket buffers are not part of it. The cost of a publish is the server's CPU time per \`POST /feign/publish\` to one user; what it grows by is the cost of sockets that are no longer in the processor's caches, which a bare Bun that delivers shows too. An instance with ${fewUsers} users and one with ${connections.toLocaleString("en-US")} stand side by side and take turns, the median of ${rounds} rounds counts.`,
  async run(progress) {
    const verify = await startVerifyService();
    const few = new Crowd(await startSlipway(verify.url));
    const many = new Crowd(await startSlipway(verify.url));
    const crowds = [few, many];
    try {
      await few.grow(fewUsers);
      const slipway = await memoryOf(many);
      progress(`Slipway: ${connections} connections`);
      const cost = await compare(few, many);
      await Promise.all([few.stop(), many.stop()]);
      const [fewBare, manyBare, node] = [
        new Crowd(await startDeliveringBun()),
        new Crowd(await startDeliveringBun()),
        new Crowd(await startNodeWs()),
      ];
      crowds.push(fewBare, manyBare, node);
      await fewBare.grow(fewUsers);
      const bare = await memoryOf(manyBare);
      progress(`bare Bun: ${connections} connections`);
      const bareCost = await compare(fewBare, manyBare);
      await Promise.all([fewBare.stop(), manyBare.stop()]);
      return resultOf([slipway, bare, await memoryOf(node)], cost, bareCost);
    } finally {
      await Promise.all([verify.stop(), ...crowds.map((crowd) => crowd.stop())]);
    }
  },
};

/** A server and the load generators that keep connections to it. */
class Crowd {
  readonly server: ServerProcess;
  readonly #loads: LoadProcess[] = [startLoad(), startLoad()];

  constructor(server: ServerProcess) {
    this.server = server;
  }

  /** Each load generator opens half: users `0-0`, `0-1`, … and `1-0`, `1-1`, … */
  async grow(count: number): Promise<void> {
    const results = await Promise.all(
      this.#loads.map((load, index) =>
        load.run({
          type: "hold",
          url: this.server.url,
          count: count / this.#loads.length,
          prefix: `${index}-`,
          atOnce: 25,
        }),
      ),
    );
    const failed = results.reduce((sum, result) => sum + result.failed, 0);
    if (failed > 0) throw new Error(`${this.server.name} refused ${failed} connections`);
  }

  async stop(): Promise<void> {
    await Promise.all([this.server.stop(), ...this.#loads.map((load) => load.stop())]);
  }
}

interface Memory {
  name: string;
  before: number;
  after: number;
  bytesEach: number;
}

async function memoryOf(crowd: Crowd): Promise<Memory> {
  const { server } = crowd;
  // A few connections first, so that compiled code and memory pools are not counted as the cost of a connection.
  await crowd.grow(fewUsers);
  await Bun.sleep(settleMs);
  const before = server.residentBytes();
  await crowd.grow(connections);
  await Bun.sleep(settleMs);
  const after = server.residentBytes();
  return { name: server.name, before, after, bytesEach: (after - before) / connections };
}

/** CPU time of the server per publish to one user, in microseconds. */
interface PublishCost {
  few: number;
  many: number;
}

async function compare(few: Crowd, many: Crowd): Promise<PublishCost> {
  const publisher = startLoad();
  const costOf = async ({ server }: Crowd, users: number) => {
    const before = server.cpuSeconds();
    const result = await publisher.run({
      type: "target",
      url: server.url,
      requests: publishes,
      atOnce: 16,
      prefix: "0-",
      users,
      dataBytes: 100,
    });
    if (result.failed > 0) throw new Error(`${server.name} refused ${result.failed} publishes`);
    return ((server.cpuSeconds() - before) * 1e6) / result.count;
  };
  const [fewCosts, manyCosts]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const costs = [await costOf(few, fewUsers / 2), await costOf(many, connections / 2)] as const;
    // The first round warms up.
    if (round === 0) continue;
    fewCosts.push(costs[0]);
    manyCosts.push(costs[1]);
  }
  await publisher.stop();
  return { few: median(fewCosts), many: median(manyCosts) };
}

function resultOf(memory: Memory[], cost: PublishCost, bareCost: PublishCost) {
  const growthOf = ({ few, many }: PublishCost) => many / few - 1;
  const written = (growth: number) => `${growth >= 0 ? "+" : "−"}${digits(Math.abs(growth) * 100)} %`;
  const growth = growthOf(cost);
  const bytesEach = memory[0]?.bytesEach ?? Number.NaN;
  const all = connections.toLocaleString("en-US");
  return {
    figures: [
      {
        name: `process memory per idle connection at ${all}`,
        measured: `${digits(bytesEach / 1024)} KB`,
        toReach: "≤ 4 KB",
        isReached: bytesEach <= 4 * 1024,
      },
      {
        name: `publish cost as users grow from ${fewUsers} to ${all}`,
        measured: `${digits(cost.few)} → ${digits(cost.many)} µs (${written(growth)}; a bare Bun that delivers: ${written(growthOf(bareCost))})`,
        toReach: "grows no more than a bare Bun server that delivers (within 5 points)",
        isReached: growth <= growthOf(bareCost) + 0.05,
      },
    ],
    tables: [
      {
        title: "Memory per idle connection",
        head: ["server", "per connection", "process before", "process with all"],
        rows: memory.map(({ name, bytesEach: each, before, after }) => [
          name,
          `${digits(each / 1024)} KB`,
          `${digits(before / 1024 ** 2)} MB`,
          `${digits(after / 1024 ** 2)} MB`,
        ]),
      },
    ],
    plots: [],
  };
}
