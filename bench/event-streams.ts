import { type Benchmark, digits, median } from "./benchmark.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import type { ClientKind } from "./raw-client.ts";
import { type ServerProcess, startSlipway, startVerifyService } from "./server-process.ts";

const connections = 2_000;
const dataBytes = 100;
const rounds = 5;
const burst = 20;
const messages = 40;
/** Pause between single messages, so that each one meets an idle server. */
const pauseMs = 20;

interface Contender {
  name: string;
  kind: ClientKind;
  server: ServerProcess;
  load: LoadProcess;
  single: number[];
  inBursts: number[];
}

export const eventStreams: Benchmark = {
  name: "event-streams",
  title: "Event streams",
  method: `${connections.toLocaleString("en-US")} connections to each of two gateways, by WebSocket with \`slipway.v1\` and by event stream (\`/sse\`), which carry the same frames. Messages of ${dataBytes} bytes to all of them: one at a time, and in bursts of ${burst} requests at once. User and system time of the server process per delivery. Both take turns over ${rounds} rounds; the median counts.`,
  async run(progress) {
    const verify = await startVerifyService();
    const contenders: Contender[] = [];
    const add = async (name: string, kind: ClientKind) => {
      const server = await startSlipway(verify.url);
      const load = startLoad();
      contenders.push({ name, kind, server, load, single: [], inBursts: [] });
      const order = { url: server.url, count: connections, prefix: "user", atOnce: 50, kind };
      const { failed } = await load.run({ type: "hold", ...order });
      if (failed > 0) throw new Error(`${name}: ${failed} connections were refused`);
      progress(`${name}: ${connections} connections`);
    };
    try {
      await add("WebSocket", "v1");
      await add("event stream", "sse");
      for (let round = 0; round <= rounds; round++) {
        for (const contender of contenders) {
          const single = await perDelivery(contender, messages, 1);
          const inBursts = await perDelivery(contender, messages * 10, burst);
          // The first round warms up and is not counted.
          if (round === 0) continue;
          contender.single.push(single);
          contender.inBursts.push(inBursts);
        }
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
      }
    } finally {
      for (const { server, load } of contenders) await Promise.all([server.stop(), load.stop()]);
      await verify.stop();
    }
    return resultOf(contenders);
  },
};

async function perDelivery({ name, kind, server, load }: Contender, count: number, atOnce: number) {
  const before = server.cpuSeconds();
  const order = { url: server.url, messages: count, burst: atOnce, dataBytes, pauseMs, kind };
  const result = await load.run({ type: "broadcast", ...order });
  if (result.failed > 0) throw new Error(`${name}: ${result.failed} publishes or connections failed`);
  return ((server.cpuSeconds() - before) * 1e6) / result.count;
}

function resultOf(contenders: Contender[]): Awaited<ReturnType<Benchmark["run"]>> {
  const [socket, stream] = contenders.map(({ single, inBursts }) => ({
    single: median(single),
    inBursts: median(inBursts),
  }));
  const ratioOf = (read: (figures: { single: number; inBursts: number }) => number) =>
    socket && stream ? read(stream) / read(socket) : Number.NaN;
  const ratios = [ratioOf(({ single }) => single), ratioOf(({ inBursts }) => inBursts)] as const;
  return {
    figures: ["one at a time", `in bursts of ${burst}`].map((how, index) => ({
      name: `server CPU per delivery by event stream, ${how}`,
      measured: `${digits(ratios[index] ?? Number.NaN)} × a WebSocket`,
      toReach: "≤ 2 × a WebSocket",
      isReached: (ratios[index] ?? Number.NaN) <= 2,
    })),
    tables: [
      {
        title: "Server CPU per delivery, by transport",
        head: ["transport", "one at a time", `bursts of ${burst}`],
        rows: contenders.map(({ name, single, inBursts }) => [
          name,
          `${digits(median(single))} µs`,
          `${digits(median(inBursts))} µs`,
        ]),
      },
    ],
    plots: [],
  };
}
