import { SignJWT } from "jose";
import { type Benchmark, digits, median } from "./benchmark.ts";
import { type PeerOrder, type PeerResult, startPeerLoad } from "./peer-load.ts";
import type { PeerServer } from "./peers/peer-process.ts";
import { buildProgram, findListPeers, findTokenPeers, type Peer } from "./peers/peer-servers.ts";
import { startVerifyService } from "./server-process.ts";

const rounds = 5;
const admitted = 4_000;
const users = 10_000;
const connected = 1_000;
const lists = 5;
const atOnce = 64;
const secret = "a secret of the benchmark that is long enough";

const list = Array.from({ length: users }, (_, index) => `user${index}`);
const figure = (count: number) => count.toLocaleString("en-US");

export const tokensAndLists: Benchmark = {
  name: "tokens",
  title: "Tokens and lists of users",
  method: `Slipway and Centrifugo (\`BENCH_CENTRIFUGO\`, or on the PATH) in turns, ${rounds} rounds after a warm one, medians. Tokens: ${figure(admitted)} connections, ${atOnce} at once, each admitted by a JWT of HS256; the CPU of the server is divided by the count. Lists: one text of 100 bytes to ${figure(users)} users, of whom ${figure(connected)} are connected, by \`publishBatch\` and by \`broadcast\` to as many channels; the time from the first byte of the request to the last arrival, and the CPU of the server.`,
  async run(progress) {
    buildProgram();
    const token = await new SignJWT({ sub: "42" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("1h")
      .sign(Buffer.from(secret));
    const verify = await startVerifyService();
    try {
      const byToken = await inTurns(findTokenPeers(secret, token), measureAdmissions, progress);
      const byList = await inTurns(findListPeers(verify.url, list), measureList, progress);
      const [own, peer] = byList.map(({ values }) => median(values.map(({ ms }) => ms)));
      const [ownToken, peerToken] = byToken.map(({ values }) => median(values.map(({ us }) => us)));
      return {
        figures: [
          ...against("CPU to admit a connection with a JWT", ownToken, peerToken),
          ...against(`one text to ${figure(users)} users until the last arrival`, own, peer),
        ],
        tables: [
          {
            title: "Connections with a JWT",
            head: ["server", "µs of CPU for each"],
            rows: byToken.map(({ name, values }) => [name, digits(median(values.map(({ us }) => us)))]),
          },
          {
            title: `One text to ${figure(users)} users`,
            head: ["server", "ms until the last arrival", "ms of CPU"],
            rows: byList.map(({ name, values }) => [
              name,
              digits(median(values.map(({ ms }) => ms))),
              digits(median(values.map(({ us }) => us)) / 1000),
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

interface Cost {
  ms: number;
  us: number;
}

type Load = (order: PeerOrder) => Promise<PeerResult>;

/** The costs of each server, which take turns. */
async function inTurns(
  peers: Peer[],
  measure: (server: PeerServer, load: Load) => Promise<Cost>,
  progress: (message: string) => void,
): Promise<{ name: string; values: Cost[] }[]> {
  const measured = peers.map(({ name }) => ({ name, values: [] as Cost[] }));
  for (let round = 0; round <= rounds; round++) {
    for (const [index, peer] of peers.entries()) {
      const server = await peer.start();
      const generator = startPeerLoad();
      try {
        const cost = await measure(server, async (order) => {
          const result = await generator.run(order);
          if (result.error !== undefined) throw new Error(`${peer.name}: ${result.error}`);
          return result;
        });
        if (round > 0) measured[index]?.values.push(cost);
      } finally {
        await Promise.all([generator.stop(), server.stop()]);
      }
    }
    progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
  }
  return measured;
}

async function measureAdmissions({ dialect, cpuSeconds }: PeerServer, load: Load): Promise<Cost> {
  const before = cpuSeconds();
  const { seconds } = await load({ type: "hold", dialect, count: admitted, atOnce });
  return { ms: seconds * 1000, us: ((cpuSeconds() - before) / admitted) * 1e6 };
}

async function measureList({ dialect, cpuSeconds }: PeerServer, load: Load): Promise<Cost> {
  await load({ type: "hold", dialect, count: connected, atOnce });
  await load({ type: "bursts", dialect, bursts: 1, burst: 1 });
  const before = cpuSeconds();
  const { latenciesMs } = await load({ type: "bursts", dialect, bursts: lists, burst: 1 });
  return { ms: median(latenciesMs), us: ((cpuSeconds() - before) / lists) * 1e6 };
}

function against(name: string, own = 0, peer?: number) {
  if (peer === undefined) return [];
  const ratio = own / peer;
  return [{ name, measured: `${digits(ratio)} × Centrifugo`, toReach: "≤ 1 ×", isReached: ratio <= 1 }];
}
