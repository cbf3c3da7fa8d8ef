import { type Benchmark, digits, median } from "./benchmark.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import {
  type ServerProcess,
  startBareBun,
  startDeliveringBun,
  startSlipway,
  startVerifyService,
} from "./server-process.ts";

const users = 1_000;
const requests = 30_000;
const rounds = 5;
const atOnce = 32;
const dataBytes = 100;

export const targetedPublish: Benchmark = {
  name: "targeted",
  title: "Targeted publishes",
  method: `\`POST /feign/publish\` to one of ${users.toLocaleString("en-US")} connected users at a time, ${atOnce} kept-alive connections, ${requests.toLocaleString("en-US")} requests a round. Peers are a bare \`Bun.serve\` that parses the same JSON, answers JSON and delivers nothing, and the same with one \`server.publish\` to the user's topic: a delivery is a write of the kernel to one more socket, so that no program in Bun that delivers can be faster than the latter. Servers take turns, the median of ${rounds} rounds counts.`,
  async run(progress) {
    const verify = await startVerifyService();
    const servers = [await startSlipway(verify.url), await startBareBun(), await startDeliveringBun()];
    const holders = servers.map(() => startLoad());
    const publisher = startLoad();
    const measured = servers.map(() => ({ rates: [] as number[], costs: [] as number[] }));
    try {
      for (const [index, { url }] of servers.entries())
        await holders[index]?.run({ type: "hold", url, count: users, prefix: "user", atOnce: 25 });
      for (let round = 0; round <= rounds; round++) {
        for (const [index, server] of servers.entries()) {
          const { rate, cost } = await publishAll(server, publisher);
          if (round === 0) continue;
          measured[index]?.rates.push(rate);
          measured[index]?.costs.push(cost);
        }
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
      }
    } finally {
      await Promise.all([verify, ...servers].map((server) => server.stop()));
      await Promise.all([...holders, publisher].map((load) => load.stop()));
    }
    const [slipway = 0, bare = 0, delivering = 0] = measured.map(({ rates }) => median(rates));
    return {
      figures: [
        {
          name: "targeted publishes per second (`user`)",
          measured: `${digits(slipway)}, ${digits(slipway / delivering)} × bare Bun that delivers`,
          toReach: "≥ 0.9 × a bare Bun server that delivers",
          isReached: slipway / delivering >= 0.9,
        },
      ],
      tables: [
        {
          title: "Publishes to one user",
          head: ["server", "per second", "of bare Bun", "server CPU each"],
          rows: servers.map(({ name }, index) => {
            const { rates, costs } = measured[index] ?? { rates: [], costs: [] };
            const rate = median(rates);
            return [name, digits(rate), `${digits(rate / bare)} ×`, `${digits(median(costs))} µs`];
          }),
        },
      ],
      plots: [],
    };
  },
};

async function publishAll(
  server: ServerProcess,
  publisher: LoadProcess,
): Promise<{ rate: number; cost: number }> {
  const before = server.cpuSeconds();
  const result = await publisher.run({
    type: "target",
    url: server.url,
    requests,
    atOnce,
    prefix: "user",
    users,
    dataBytes,
  });
  if (result.failed > 0) throw new Error(`${server.name} refused ${result.failed} publishes`);
  return {
    rate: result.count / result.seconds,
    cost: ((server.cpuSeconds() - before) * 1e6) / result.count,
  };
}
