import { type Benchmark, digits, median } from "./benchmark.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import { withReceivingElsewhere } from "./receive-steering.ts";
import {
  type ServerProcess,
  startBareBun,
  startNodeWs,
  startOneSend,
  startSlipway,
  startVerifyService,
} from "./server-process.ts";

const connections = 2_000;
const dataBytes = 100;
const rounds = 5;
const burst = 20;
/** Pause between single messages, so that each one meets an idle server. */
const pauseMs = 20;

interface Contender {
  server: ServerProcess;
  load: LoadProcess;
  /** Messages per round: fewer for slower servers, so that all rounds take about the same time. */
  messages: number;
  single: number[];
  inBursts: number[];
  /** One at a time, with the receiving half of TCP on another core. */
  steered: number[];
}

export const fanOut: Benchmark = {
  name: "fan-out",
  title: "Fan-out",
  method: `${connections.toLocaleString("en-US")} WebSocket connections, messages of ${dataBytes} bytes to all of them through \`POST /feign/publish\`: one at a time (the next is published ${pauseMs} ms after every connection has got the last), and in bursts of ${burst} requests at once. User and system time of the server process (\`/proc/<pid>/stat\`) per delivery. All servers stand side by side and take turns over ${rounds} rounds; the median counts. On loopback the receiving half of TCP runs inside the server's \`send\` and is charged to it; in the last columns it runs on the load generators' core (receive packet steering, servers and load generators each kept to a core), as on a network it would on another machine.`,
  async run(progress) {
    const verify = await startVerifyService();
    const contenders: Contender[] = [];
    const add = async (server: ServerProcess, messages: number) => {
      const load = startLoad();
      const { failed } = await load.run({
        type: "hold",
        url: server.url,
        count: connections,
        prefix: "user",
        atOnce: 50,
      });
      if (failed > 0) throw new Error(`${server.name} refused ${failed} connections`);
      contenders.push({ server, load, messages, single: [], inBursts: [], steered: [] });
      progress(`${server.name}: ${connections} connections`);
      return contenders.length - 1;
    };
    try {
      const limit = await add(await startOneSend(), 40);
      const slipway = await add(await startSlipway(verify.url), 40);
      const bare = await add(await startBareBun(), 40);
      await add(await startNodeWs(), 20);
      for (let round = 0; round <= rounds; round++) {
        // The first round warms up and is not counted.
        for (const contender of contenders) await measureRound(contender, round > 0);
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
      }
      const pids = {
        servers: contenders.map(({ server }) => server.pid),
        loads: contenders.map(({ load }) => load.pid),
      };
      await withReceivingElsewhere(pids, async () => {
        for (let round = 1; round <= rounds; round++)
          for (const contender of contenders)
            contender.steered.push(await perDelivery(contender, contender.messages, 1));
        progress("receiving on another core");
      });
      return resultOf(contenders, { limit, slipway, bare });
    } finally {
      for (const { server, load } of contenders) await Promise.all([server.stop(), load.stop()]);
      await verify.stop();
    }
  },
};

async function measureRound(contender: Contender, isCounted: boolean): Promise<void> {
  const single = await perDelivery(contender, contender.messages, 1);
  const inBursts = await perDelivery(contender, contender.messages * 10, burst);
  if (!isCounted) return;
  contender.single.push(single);
  contender.inBursts.push(inBursts);
}

async function perDelivery({ server, load }: Contender, messages: number, atOnce: number): Promise<number> {
  const before = server.cpuSeconds();
  const { url } = server;
  const result = await load.run({ type: "broadcast", url, messages, burst: atOnce, dataBytes, pauseMs });
  if (result.failed > 0) throw new Error(`${server.name}: ${result.failed} publishes or connections failed`);
  return ((server.cpuSeconds() - before) * 1e6) / result.count;
}

function resultOf(
  contenders: Contender[],
  index: Record<"limit" | "slipway" | "bare", number>,
): Awaited<ReturnType<Benchmark["run"]>> {
  const measured = contenders.map(({ server, single, inBursts, steered }) => ({
    name: server.name,
    single: median(single),
    inBursts: median(inBursts),
    steered: steered.length > 0 ? median(steered) : Number.NaN,
  }));
  const of = (which: keyof typeof index) =>
    measured[index[which]] ?? { name: "", single: Number.NaN, inBursts: Number.NaN, steered: Number.NaN };
  const [limit, slipway] = [of("limit"), of("slipway")];
  const ofBare = slipway.single / of("bare").single;
  const ofLimit = slipway.single / limit.single;
  const burstOfLimit = slipway.inBursts / limit.single;
  return {
    figures: [
      {
        name: `server CPU per delivery, ${connections} connections, one at a time`,
        measured: `${digits(slipway.single)} µs, ${digits(ofBare)} × bare Bun, ${digits(ofLimit)} × the C program`,
        toReach: "≤ 1.15 × a bare Bun server that publishes to a topic",
        isReached: ofBare <= 1.15,
      },
      {
        name: `the same in bursts of ${burst}`,
        measured: `${digits(slipway.inBursts)} µs, ${digits(burstOfLimit)} × the C program one at a time`,
        toReach: "≤ 0.2 × the C program one at a time",
        isReached: burstOfLimit <= 0.2,
      },
    ],
    tables: [
      {
        title: "Server CPU per delivery",
        head: [
          "server",
          "one at a time",
          "of the limit",
          `bursts of ${burst}`,
          "of the limit",
          "one at a time, receiving elsewhere",
          "of the limit",
        ],
        rows: measured.map(({ name, single, inBursts, steered }) => [
          name,
          `${digits(single)} µs`,
          `${digits(single / limit.single)} ×`,
          `${digits(inBursts)} µs`,
          `${digits(inBursts / limit.single)} ×`,
          ...(Number.isNaN(steered)
            ? ["not allowed here", ""]
            : [`${digits(steered)} µs`, `${digits(steered / limit.steered)} ×`]),
        ]),
      },
    ],
    plots: [
      {
        file: "performance-fan-out",
        title: "Server CPU per delivery",
        unit: "µs",
        bars: measured.flatMap(({ name, single, inBursts }) => [
          { label: `${name}, one at a time`, value: single },
          { label: `${name}, bursts of ${burst}`, value: inBursts },
        ]),
      },
    ],
  };
}
