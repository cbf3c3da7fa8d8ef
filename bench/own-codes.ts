import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digits, median, type Table } from "./benchmark.ts";
import type { Checkout } from "./checkouts.ts";
import { adminPassword } from "./delivery-servers.ts";
import { startLoad } from "./load-process.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

interface Round {
  /** CPU of the server in microseconds. */
  perCode: number;
  perAdmission: number;
}

const codesPerRound = 4_000;
const rounds = 5;
const atOnce = 64;

export const ownCodesMethod = `Own codes: \`slipway start\` without a runner, which logs as by default, issues ${codesPerRound.toLocaleString("en-US")} codes a round to ${atOnce} callers with a session, then admits a connection with each; the CPU of its process, all threads, is divided by the count. Median of ${rounds} rounds after a warm one.`;

/** Each checkout's server, one round after the other. */
export async function measureOwnCodes(
  checkouts: readonly Checkout[],
  progress: (message: string) => void,
): Promise<{ table: Table; rounds: Round[] }> {
  const servers = await Promise.all(checkouts.map(startWhole));
  const measured = servers.map((): Round[] => []);
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [index, server] of servers.entries()) {
        const figures = await measure(server);
        if (round > 0) measured[index]?.push(figures);
      }
      progress(round === 0 ? "own codes: warm" : `own codes: round ${round} of ${rounds}`);
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  const medians = measured.map((list) => ({
    perCode: median(list.map(({ perCode }) => perCode)),
    perAdmission: median(list.map(({ perAdmission }) => perAdmission)),
  }));
  return {
    rounds: medians,
    table: {
      title: "Own codes, microseconds of CPU",
      head: ["server", "per code issued", "per admission"],
      rows: medians.map(({ perCode, perAdmission }, index) => [
        checkouts[index]?.name ?? "",
        digits(perCode),
        digits(perAdmission),
      ]),
    },
  };
}

interface WholeServer extends ServerProcess {
  token: string;
}

async function startWhole({ name, root }: Checkout): Promise<WholeServer> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
  const server = await startServer(name, [process.execPath, join(root, "src/main.ts"), "start"], {
    SLIPWAY_SERVER_LISTEN: "127.0.0.1:0",
    SLIPWAY_DATA_DIR: folder,
    SLIPWAY_ADMIN_PASSWORD: adminPassword,
    SLIPWAY_RUNNER_ENABLED: "false",
    SLIPWAY_PUSH_CONNECT_RATE: "1000000",
    SLIPWAY_PUSH_PING_INTERVAL: "20m",
    SLIPWAY_PUSH_PONG_TIMEOUT: "30m",
  });
  const response = await fetch(`${server.url}/api/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username: "admin", password: adminPassword }),
  });
  const { token } = (await response.json()) as { token: string };
  return {
    ...server,
    token,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function measure({ name, url, token, cpuSeconds }: WholeServer): Promise<Round> {
  const load = startLoad();
  const cost = async (order: Parameters<typeof load.run>[0]) => {
    const before = cpuSeconds();
    const { count, failed } = await load.run(order);
    if (failed > 0) throw new Error(`${name} refused ${failed} of ${codesPerRound}`);
    return ((cpuSeconds() - before) / count) * 1e6;
  };
  try {
    const perCode = await cost({ type: "issue", url, token, count: codesPerRound, atOnce });
    const perAdmission = await cost({ type: "holdIssued", url, atOnce });
    await load.run({ type: "release" });
    return { perCode, perAdmission };
  } finally {
    await load.stop();
  }
}
