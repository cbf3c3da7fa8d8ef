import { type Benchmark, digits, median } from "./benchmark.ts";
import { type ClientKind, type Counter, openSocket, Poster, publishRequest } from "./raw-client.ts";
import { startSlipway, startVerifyService } from "./server-process.ts";

const connections = 1_000;
const messages = 50;
const rounds = 5;
/** About 4 KB of JSON, as an application would send. */
const data = JSON.stringify(
  Array.from({ length: 60 }, (_, id) => ({
    id,
    name: `item ${id}`,
    price: (id * 7919) % 1000,
    open: id % 3 > 0,
  })),
);

interface Cost {
  cpuMicros: number[];
  bytes: number;
  residentKb: number;
}

export const compression: Benchmark = {
  name: "compression",
  title: "Compression",
  method: `A text of ${data.length.toLocaleString("en-US")} bytes (JSON) to ${connections.toLocaleString("en-US")} connections, one message at a time, at two gateways with \`push.compression\`: the clients of one offer permessage-deflate, those of the other do not. User and system time of the gateway and bytes on the wire per delivery, and resident memory per connection; the median of ${rounds} rounds after a warm one counts.`,
  async run(progress) {
    const verify = await startVerifyService();
    try {
      const plain = await measure(verify.url, "raw");
      progress("without compression");
      const small = await measure(verify.url, "deflate");
      progress("with compression");
      const row = (name: string, { cpuMicros, bytes, residentKb }: Cost) => [
        name,
        `${digits(median(cpuMicros))} µs`,
        digits(bytes),
        `${digits(residentKb)} KB`,
      ];
      return {
        figures: [
          {
            name: "bytes on the wire with compression",
            measured: `${digits(small.bytes / plain.bytes)} × those without it, for ${digits(median(small.cpuMicros) / median(plain.cpuMicros))} × the CPU`,
            toReach: "≤ 0.5 × the bytes",
            isReached: small.bytes / plain.bytes <= 0.5,
          },
        ],
        tables: [
          {
            title: "A delivery",
            head: ["client", "CPU of the gateway", "bytes", "memory per connection"],
            rows: [row("does not offer it", plain), row("offers permessage-deflate", small)],
          },
        ],
        plots: [],
      };
    } finally {
      await verify.stop();
    }
  },
};

async function measure(verifyUri: string, kind: ClientKind): Promise<Cost> {
  const server = await startSlipway(verifyUri, { SLIPWAY_PUSH_COMPRESSION: "true" });
  try {
    const url = new URL(server.url);
    const before = server.residentBytes();
    const counters: Counter[] = [];
    for (let index = 0; index < connections; index++) {
      const counter = { bytes: 0, marks: 0 };
      counters.push(counter);
      await openSocket(url, `user-${index}`, counter, () => {}, kind);
    }
    const poster = await Poster.connect(url);
    const request = publishRequest(url, { targetType: "all", data });
    const cost: Cost = { cpuMicros: [], bytes: 0, residentKb: 0 };
    for (let round = 0; round <= rounds; round++) {
      const cpu = server.cpuSeconds();
      for (let message = 0; message < messages; message++)
        cost.bytes = await deliver(poster, request, counters);
      const micros = ((server.cpuSeconds() - cpu) * 1e6) / (messages * connections);
      if (round > 0) cost.cpuMicros.push(micros);
    }
    cost.residentKb = (server.residentBytes() - before) / connections / 1024;
    return cost;
  } finally {
    await server.stop();
  }
}

/** Returns the bytes of a delivery. Messages do not depend on earlier ones, so that every client receives as many. */
async function deliver(poster: Poster, request: string, counters: Counter[]): Promise<number> {
  for (const counter of counters) counter.bytes = 0;
  const status = await poster.post(request);
  if (status !== 200) throw new Error(`the publish was answered ${status}`);
  const [first] = counters;
  while (!first?.bytes || counters.some(({ bytes }) => bytes !== first.bytes)) await Bun.sleep(1);
  return first.bytes;
}
