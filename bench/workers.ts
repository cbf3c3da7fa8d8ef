import { readFileSync } from "node:fs";
import { type Benchmark, digits, median } from "./benchmark.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import { cpuSecondsOf, type ServerProcess, startSlipway, startVerifyService } from "./server-process.ts";

const connections = 2_000;
const dataBytes = 100;
const rounds = 5;
const messages = 40;
const burst = 20;
const pauseMs = 20;
const workers = 2;

interface Contender {
  server: ServerProcess;
  load: LoadProcess;
  single: number[];
  inBursts: number[];
  /** CPU of the busiest process per delivery of the instance, in bursts. */
  busiest: number[];
  /** Parts of the workers in the CPU of all workers, in the last bursts. */
  workerShares: number[];
}

export const workerProcesses: Benchmark = {
  name: "workers",
  title: "Several workers",
  method: `One gateway process and \`--workers ${workers}\` side by side, each with ${connections.toLocaleString("en-US")} WebSocket connections and messages of ${dataBytes} bytes to all of them, as in the fan-out: one at a time, and in bursts of ${burst}. User and system time of all processes of an instance, the supervisor included, per delivery; median of ${rounds} rounds. The rate that an instance can reach is the number of its cores divided by this time. On two cores the load generators compete with the servers, so that CPU time is measured, not the rate. The last column is the busiest process alone: the rate of the instance ends where this process fills its core.`,
  async run(progress) {
    const verify = await startVerifyService();
    const contenders: Contender[] = [];
    try {
      for (const count of [1, workers]) {
        const server = await startSlipway(verify.url, { SLIPWAY_PUSH_WORKERS: String(count) });
        const load = startLoad();
        contenders.push({ server, load, single: [], inBursts: [], busiest: [], workerShares: [] });
        const order = { url: server.url, count: connections, prefix: "user", atOnce: 50 };
        const { failed } = await load.run({ type: "hold", ...order });
        if (failed > 0) throw new Error(`${failed} connections were refused`);
        progress(`${count} process${count > 1 ? "es" : ""}: ${connections} connections`);
      }
      for (let round = 0; round <= rounds; round++) {
        // The first round warms up and is not counted.
        for (const contender of contenders) await measureRound(contender, round > 0);
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
      }
      const shares = await sharesOf(contenders[1]?.server.url ?? "");
      return resultOf(contenders, shares);
    } finally {
      for (const { server, load } of contenders) await Promise.all([server.stop(), load.stop()]);
      await verify.stop();
    }
  },
};

async function measureRound(contender: Contender, isCounted: boolean): Promise<void> {
  const single = await perDelivery(contender, messages, 1);
  const inBursts = await perDelivery(contender, messages * 10, burst);
  if (!isCounted) return;
  contender.single.push(single.all);
  contender.inBursts.push(inBursts.all);
  contender.busiest.push(inBursts.busiest);
  contender.workerShares = inBursts.workerShares;
}

/** Microseconds of all processes and of the busiest one, and how the workers share theirs. */
async function perDelivery({ server, load }: Contender, count: number, atOnce: number) {
  const pids = [server.pid, ...childrenOf(server.pid)];
  const before = pids.map(cpuSecondsOf);
  const { url } = server;
  const result = await load.run({
    type: "broadcast",
    url,
    messages: count,
    burst: atOnce,
    dataBytes,
    pauseMs,
  });
  if (result.failed > 0) throw new Error(`${result.failed} publishes or connections failed`);
  const used = pids.map((pid, index) => ((cpuSecondsOf(pid) - (before[index] ?? 0)) * 1e6) / result.count);
  const sumOf = (values: number[]) => values.reduce((sum, each) => sum + each, 0);
  const ofWorkers = used.slice(1);
  return {
    all: sumOf(used),
    busiest: Math.max(...used),
    workerShares: ofWorkers.map((each) => each / sumOf(ofWorkers)),
  };
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** The part of the connections that each worker has: connection ids begin with a name of their process. */
async function sharesOf(url: string): Promise<number[]> {
  const counts = new Map<string, number>();
  for (let index = 0; index < connections; index++) {
    const answer = await fetch(`${url}/feign/connections?userId=user${index}`);
    const { data } = (await answer.json()) as { data: { connections: { connectionId: string }[] } };
    const name = data.connections[0]?.connectionId.split("-")[0] ?? "";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts.values()].map((count) => count / connections);
}

function areEven(shares: number[]): boolean {
  return shares.length === workers && shares.every((share) => share >= 0.35 && share <= 0.65);
}

function resultOf(contenders: Contender[], shares: number[]): Awaited<ReturnType<Benchmark["run"]>> {
  const measured = contenders.map(({ single, inBursts, busiest }) => ({
    single: median(single),
    inBursts: median(inBursts),
    busiest: median(busiest),
  }));
  const [one = { single: 0, inBursts: 0, busiest: 0 }, several = one] = measured;
  const costSingle = several.single / one.single;
  const costBursts = several.inBursts / one.inBursts;
  const gain = (workers * one.single) / several.single;
  const gainBursts = (workers * one.inBursts) / several.inBursts;
  const gainBusiest = one.busiest / several.busiest;
  const workerShares = contenders[1]?.workerShares ?? [];
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  return {
    figures: [
      {
        name: `cores ÷ CPU per delivery, ${workers} workers against one process`,
        measured: `${digits(gain)} × one at a time, ${digits(gainBursts)} × in bursts; by the busiest process in bursts ${digits(gainBusiest)} ×`,
        toReach: "≥ 1.5 ×",
        isReached: gain >= 1.5 && gainBursts >= 1.5,
      },
      {
        name: "CPU per delivery with workers, one at a time",
        measured: `${digits(costSingle)} × of one process (in bursts ${digits(costBursts)} ×)`,
        toReach: "≤ 1.1 ×",
        isReached: costSingle <= 1.1,
      },
      {
        name: `connections of each worker, of ${connections.toLocaleString("en-US")}`,
        measured: shares.map(percent).join(", "),
        toReach: "35 to 65 %",
        isReached: areEven(shares),
      },
      {
        name: "CPU of each worker in bursts, of both",
        measured: workerShares.map(percent).join(", "),
        toReach: "35 to 65 %: both are busy",
        isReached: areEven(workerShares),
      },
    ],
    tables: [
      {
        title: "CPU of the instance per delivery",
        head: ["processes", "one at a time", `bursts of ${burst}`, "busiest process, bursts"],
        rows: measured.map(({ single, inBursts, busiest }, index) => [
          index === 0 ? "one process" : `supervisor and ${workers} workers`,
          `${digits(single)} µs`,
          `${digits(inBursts)} µs`,
          `${digits(busiest)} µs`,
        ]),
      },
    ],
    plots: [],
  };
}
