import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Benchmark, digits } from "./benchmark.ts";
import { type Checkout, checkouts } from "./checkouts.ts";
import { type LoadGenerator, startGenerator } from "./load-process.ts";
import { startVerifyService } from "./server-process.ts";

export type ReturningOrder =
  | { type: "open"; root: string; url: string; from: number; count: number }
  | { type: "returned"; withinMs: number };

export interface ReturningResult {
  returns: { lostAtMs: number | null; returnedAtMs: number | null; transport: string }[];
  error?: string;
}

interface Scene {
  connections: number;
  /** Between the end of the old process and the start of the new one. */
  pauseMs: number;
}

const scenes: Scene[] = [
  { connections: 1_000, pauseMs: 0 },
  { connections: 1_000, pauseMs: 5_000 },
  { connections: 10_000, pauseMs: 0 },
];
const clientsPerProcess = 5_000;
const returnWithinMs = 60_000;
const port = 18_960;
/** After the gateway is ready again. */
const targetMs = 2_000;

interface Outcome {
  scene: string;
  /** From the signal until the gateway is ready again. */
  restartMs: number;
  offlineMs: number[];
  afterReadyMs: number[];
  missing: number;
  onStreams: number;
}

export const restart: Benchmark = {
  name: "restart",
  title: "Restart of a single instance",
  method: `\`slipway push\` with its defaults (except for \`push.connect-rate\`, because all clients have one address) and connections of the JavaScript client, in processes of their own. SIGTERM, then the same command again on the same port and data. Offline is the time from the close of a connection to its next \`open\`; "after ready" is the part of it after \`/readyz\` answers 200. Codes are verified by a service of its own. All processes share the machine's cores. With \`--before PATH\` an earlier checkout, with its own client, does the same.`,
  async run(progress) {
    const outcomes: { name: string; outcome: Outcome }[] = [];
    for (const checkout of checkouts())
      for (const scene of scenes) {
        outcomes.push({ name: checkout.name, outcome: await measure(checkout, scene) });
        progress(`${checkout.name}: ${outcomes.at(-1)?.outcome.scene}`);
      }
    const here = outcomes.filter(({ name }) => name === "Slipway").map(({ outcome }) => outcome);
    return {
      figures: here.flatMap((outcome) => [
        {
          name: `p95 of the return after readiness, ${outcome.scene}`,
          measured: seconds(percentile(outcome.afterReadyMs, 0.95)),
          toReach: `≤ ${seconds(targetMs)}, all return`,
          isReached: percentile(outcome.afterReadyMs, 0.95) <= targetMs && outcome.missing === 0,
        },
        {
          name: `clients on event streams afterwards, ${outcome.scene}`,
          measured: `${digits(100 * outcome.onStreams)} %`,
          toReach: "0 %",
          isReached: outcome.onStreams === 0,
        },
      ]),
      tables: [
        {
          title: "Restart, seconds",
          head: [
            ...["program", "connections", "restart takes", "offline p50", "p95", "max"],
            ...["after ready p50", "p95", "max", "not back within a minute", "on event streams, %"],
          ],
          rows: outcomes.map(({ name, outcome }) => [
            name,
            outcome.scene,
            seconds(outcome.restartMs),
            ...[outcome.offlineMs, outcome.afterReadyMs].flatMap((values) =>
              [0.5, 0.95, 1].map((share) => seconds(percentile(values, share))),
            ),
            String(outcome.missing),
            digits(100 * outcome.onStreams),
          ]),
        },
      ],
      plots: [],
    };
  },
};

async function measure({ root }: Checkout, { connections, pauseMs }: Scene): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
  const verify = await startVerifyService();
  const loads: LoadGenerator<ReturningOrder, ReturningResult>[] = [];
  let server = await startGateway(root, folder, verify.url);
  try {
    for (let from = 0; from < connections; from += clientsPerProcess) {
      const load = startGenerator<ReturningOrder, ReturningResult>("load/returning-clients.ts");
      loads.push(load);
      const count = Math.min(clientsPerProcess, connections - from);
      await load.run({ type: "open", root, url: `ws://127.0.0.1:${port}/ws`, from, count });
    }
    const signalledAtMs = wallMs();
    server.kill("SIGTERM");
    await server.exited;
    await Bun.sleep(pauseMs);
    server = await startGateway(root, folder, verify.url);
    const readyAtMs = wallMs();
    const results = await Promise.all(
      loads.map((load) => load.run({ type: "returned", withinMs: returnWithinMs })),
    );
    const returns = results.flatMap((result) => result.returns);
    const back = returns.flatMap(({ lostAtMs, returnedAtMs }) =>
      lostAtMs === null || returnedAtMs === null ? [] : [{ lostAtMs, returnedAtMs }],
    );
    return {
      scene: `${connections.toLocaleString("en-US")}${pauseMs > 0 ? `, ${pauseMs / 1000} s away` : ""}`,
      restartMs: readyAtMs - signalledAtMs,
      offlineMs: back.map(({ lostAtMs, returnedAtMs }) => returnedAtMs - lostAtMs),
      afterReadyMs: back.map(({ returnedAtMs }) => Math.max(0, returnedAtMs - readyAtMs)),
      missing: returns.length - back.length,
      onStreams: returns.filter(({ transport }) => transport === "sse").length / returns.length,
    };
  } finally {
    for (const load of loads) await load.stop();
    server.kill("SIGKILL");
    await server.exited;
    await verify.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startGateway(root: string, folder: string, verifyUri: string) {
  const child = Bun.spawn([process.execPath, join(root, "src/main.ts"), "push"], {
    cwd: root,
    env: {
      ...process.env,
      SLIPWAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      SLIPWAY_DATA_DIR: folder,
      SLIPWAY_PUSH_VERIFY_URI: verifyUri,
      SLIPWAY_PUSH_CONNECT_RATE: "0",
      SLIPWAY_LOG_LEVEL: "warn",
    },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null)
      throw new Error(`The gateway does not start: ${await new Response(child.stderr).text()}`);
    await Bun.sleep(10);
  }
  return child;
}

const wallMs = () => performance.timeOrigin + performance.now();

function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

const seconds = (ms: number) => `${digits(ms / 1000)} s`;
