import { type Benchmark, digits, median } from "./benchmark.ts";
import { startLoad } from "./load-process.ts";
import {
  type ServerProcess,
  startBareBun,
  startNodeWs,
  startSlipway,
  startVerifyService,
} from "./server-process.ts";

const connections = 15_000;
const fewUsers = 100;
const publishes = 20_000;
const rounds = 3;

/** Time for garbage to be collected and pages to be given back. */
const settleMs = 5_000;

export const connectionCost: Benchmark = {
  name: "connections",
  title: "Many connections",
  method: `${connections.toLocaleString("en-US")} connections, each of a user of its own, opened by two load generators. Memory is the growth of resident memory of the process per connection, idle, after ${settleMs / 1000} s; the kernel's socket buffers are not part of it. The cost of a publish is the server's CPU time per \`POST /feign/publish\` to one user, with ${fewUsers} and with ${connections.toLocaleString("en-US")} users connected, the median of ${rounds} rounds.`,
  async run(progress) {
    const verify = await startVerifyService();
    try {
      const slipway = await measure(await startSlipway(verify.url), true, progress);
      const bare = await measure(await startBareBun(), false, progress);
      const node = await measure(await startNodeWs(), false, progress);
      const growth = slipway.publishMany / slipway.publishFew - 1;
      return {
        figures: [
          {
            name: `process memory per idle connection at ${connections.toLocaleString("en-US")}`,
            measured: `${digits(slipway.bytesEach / 1024)} KB`,
            toReach: "≤ 4 KB",
            isReached: slipway.bytesEach <= 4 * 1024,
          },
          {
            name: `publish cost as users grow from ${fewUsers} to ${connections.toLocaleString("en-US")}`,
            measured: `${digits(slipway.publishFew)} → ${digits(slipway.publishMany)} µs (${growth >= 0 ? "+" : "−"}${digits(Math.abs(growth) * 100)} %)`,
            toReach: "flat (± 20 %)",
            isReached: Math.abs(growth) <= 0.2,
          },
        ],
        tables: [
          {
            title: "Memory per idle connection",
            head: ["server", "per connection", "process before", "process with all"],
            rows: [slipway, bare, node].map(({ name, bytesEach, before, after }) => [
              name,
              `${digits(bytesEach / 1024)} KB`,
              `${digits(before / 1024 ** 2)} MB`,
              `${digits(after / 1024 ** 2)} MB`,
            ]),
          },
        ],
        plots: [],
      };
    } finally {
      await verify.stop();
    }
  },
};

async function measure(server: ServerProcess, withPublish: boolean, progress: (message: string) => void) {
  const loads = [startLoad(), startLoad()];
  const hold = async (count: number, name: string) => {
    const each = count / loads.length;
    const results = await Promise.all(
      loads.map((load, index) =>
        load.run({ type: "hold", url: server.url, count: each, prefix: `${name}${index}-`, atOnce: 25 }),
      ),
    );
    const failed = results.reduce((sum, result) => sum + result.failed, 0);
    if (failed > 0) throw new Error(`${server.name} refused ${failed} connections`);
  };
  const publishCost = async (name: string, users: number) => {
    const publisher = startLoad();
    const costs: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const before = server.cpuSeconds();
      const result = await publisher.run({
        type: "target",
        url: server.url,
        requests: publishes,
        atOnce: 16,
        prefix: `${name}0-`,
        users,
        dataBytes: 100,
      });
      if (result.failed > 0) throw new Error(`${server.name} refused ${result.failed} publishes`);
      if (round > 0) costs.push(((server.cpuSeconds() - before) * 1e6) / result.count);
    }
    await publisher.stop();
    return median(costs);
  };
  try {
    // A few connections first: code that is compiled and pools that are made once are no cost of a connection.
    await hold(fewUsers, "few");
    const publishFew = withPublish ? await publishCost("few", fewUsers / loads.length) : Number.NaN;
    await Bun.sleep(settleMs);
    const before = server.residentBytes();
    await hold(connections, "many");
    await Bun.sleep(settleMs);
    const after = server.residentBytes();
    progress(`${server.name}: ${connections} connections`);
    const publishMany = withPublish ? await publishCost("many", connections / loads.length) : Number.NaN;
    return {
      name: server.name,
      before,
      after,
      bytesEach: (after - before) / connections,
      publishFew,
      publishMany,
    };
  } finally {
    await Promise.all([server.stop(), ...loads.map((load) => load.stop())]);
  }
}
