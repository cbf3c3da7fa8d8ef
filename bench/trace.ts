import { type Benchmark, digits, median } from "./benchmark.ts";
import { type LoadProcess, type Order, startLoad } from "./load-process.ts";
import { type ServerProcess, startSlipway, startVerifyService } from "./server-process.ts";

const connections = 1_000;
const messages = 40;
const requests = 20_000;
const rounds = 7;
const dataBytes = 100;

type Measured = "one at a time" | "in bursts" | "to one user" | "to one user, acknowledged";

/** A gateway, its clients, and the CPU of each delivery or publish by round. */
interface Contender {
  name: string;
  server: ServerProcess;
  raw: LoadProcess;
  acknowledging: LoadProcess;
  costs: Record<Measured, number[]>;
}

export const traceCost: Benchmark = {
  name: "trace",
  title: "Trace and acknowledgements",
  method: `Messages of ${dataBytes} bytes to ${connections.toLocaleString("en-US")} raw and as many \`slipway.v1\` connections, one at a time and in bursts of 20, and ${requests.toLocaleString("en-US")} publishes to one of the \`slipway.v1\` users at a time, without and with an acknowledgement by the client, at two gateways: with the trace (the default) and with \`push.trace-messages: 0\`, which still asks for acknowledgements but does not record them. User and system time of the gateway per delivery or publish. The gateways take turns; the median of ${rounds} rounds after a warm one counts.`,
  async run(progress) {
    const verify = await startVerifyService();
    const contenders: Contender[] = [];
    try {
      for (const [name, size] of [
        ["with the trace", "10000"],
        ["without it", "0"],
      ] as const)
        contenders.push(await startContender(name, verify.url, size));
      for (let round = 0; round <= rounds; round++) {
        for (const contender of contenders) await measureRound(contender, round > 0);
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
      }
    } finally {
      for (const { server, raw, acknowledging } of contenders)
        await Promise.all([server, raw, acknowledging].map((each) => each.stop()));
      await verify.stop();
    }
    const [traced, untraced] = contenders.map(({ costs }) => costs);
    const ratio = (what: Measured) => median(traced?.[what] ?? []) / median(untraced?.[what] ?? []);
    const broadcast = Math.max(ratio("one at a time"), ratio("in bursts"));
    return {
      figures: [
        {
          name: "cost of the trace for a broadcast delivery",
          measured: `${digits(100 * (broadcast - 1))} %`,
          toReach: "≤ 3 %",
          isReached: broadcast <= 1.03,
        },
      ],
      tables: [
        {
          title: "CPU of the gateway",
          head: ["", ...contenders.map(({ name }) => name), "ratio"],
          rows: (["one at a time", "in bursts", "to one user", "to one user, acknowledged"] as const).map(
            (what) => [
              what,
              ...contenders.map(({ costs }) => `${digits(median(costs[what]))} µs`),
              `${digits(ratio(what))} ×`,
            ],
          ),
        },
      ],
      plots: [],
    };
  },
};

async function startContender(name: string, verifyUri: string, traceMessages: string): Promise<Contender> {
  const server = await startSlipway(verifyUri, {
    SLIPWAY_PUSH_TRACE_MESSAGES: traceMessages,
    // Without the trace, acknowledgements count as client messages.
    SLIPWAY_PUSH_CLIENT_MESSAGE_RATE: "0",
  });
  const [raw, acknowledging] = [startLoad(), startLoad()];
  const { url } = server;
  await raw.run({ type: "hold", url, count: connections, prefix: "raw", atOnce: 50 });
  await acknowledging.run({ type: "hold", url, count: connections, prefix: "user", atOnce: 50, kind: "ack" });
  const costs = {
    "one at a time": [],
    "in bursts": [],
    "to one user": [],
    "to one user, acknowledged": [],
  };
  return { name, server, raw, acknowledging, costs };
}

async function measureRound({ server, raw, acknowledging, costs }: Contender, isCounted: boolean) {
  const { url } = server;
  const broadcast = { type: "broadcast", url, dataBytes, pauseMs: 20 } as const;
  const target = {
    type: "target",
    url,
    requests,
    atOnce: 32,
    prefix: "user",
    users: connections,
    dataBytes,
  } as const;
  const orders: [Measured, LoadProcess, Order][] = [
    ["one at a time", raw, { ...broadcast, messages, burst: 1 }],
    ["in bursts", raw, { ...broadcast, messages: messages * 10, burst: 20 }],
    ["to one user", acknowledging, target],
    ["to one user, acknowledged", acknowledging, { ...target, ack: true }],
  ];
  for (const [what, load, order] of orders) {
    const before = server.cpuSeconds();
    const result = await load.run(order);
    if (result.failed > 0) throw new Error(`${result.failed} publishes or connections failed`);
    // The load generator counts the deliveries to its own connections; as many are of the other kind.
    const count = order.type === "broadcast" ? 2 * result.count : result.count;
    const cost = ((server.cpuSeconds() - before) * 1e6) / count;
    if (isCounted) costs[what].push(cost);
  }
}
