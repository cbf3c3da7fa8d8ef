import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import type { Surroundings } from "../surroundings.ts";
import { Link } from "./link.ts";
import { type Part, signalSafely, until } from "./part.ts";
import { gatewayFlags, startAll } from "./server.ts";
import { answersReady, slipwayPart } from "./slipway-process.ts";
import type { World } from "./world.ts";

const workerCount = 3;

/** One gateway with three workers on one port, without a broker. */
export async function workersWorld(around: Surroundings): Promise<World> {
  const port = freePort();
  const dataDir = join(around.folder, "gateway");
  mkdirSync(dataDir);
  const url = `http://127.0.0.1:${port}`;
  const front = await Link.open("clients → gateway", port);
  const supervisor = slipwayPart({
    name: "gateway",
    role: "gateway",
    program: around.program,
    command: "push",
    flags: { ...gatewayFlags(around, port, dataDir), workers: String(workerCount) },
    logFile: join(around.folder, "gateway.log"),
    isReady: () => answersReady(url),
  });
  // A fault that stops the gateway stops all of its processes.
  const gateway: Part = { ...supervisor, pids: () => [...supervisor.pids(), ...workersOf(supervisor)] };
  const workers = Array.from({ length: workerCount }, (_, index) => workerPart(supervisor, index));
  await startAll([gateway]);
  const instance = { part: gateway, url, front: front.url, dataDir, port, upstream: [] };
  return {
    setup: "workers",
    program: around.program,
    folder: around.folder,
    timeline: around.timeline,
    parts: [gateway, ...workers],
    instances: [instance],
    links: [front, around.verifyLink],
    runnerTokens: [],
    leaseMs: 5_000,
    knowsReleases: false,
    steps: [],
    services: [],
    async stop() {
      for (const pid of gateway.pids()) signalSafely(pid, "SIGCONT");
      gateway.signal("SIGKILL");
      await gateway.ended(10_000);
    },
  };
}

/** The n-th oldest worker process. The supervisor starts it again by itself. */
function workerPart(supervisor: Part, index: number): Part {
  const pid = () => workersOf(supervisor)[index];
  let signalled: number | undefined;
  return {
    name: `worker ${index + 1}`,
    role: "worker",
    // A worker ends only with its supervisor or by a crash.
    politeSignal: "SIGABRT",
    pids: () => [pid() ?? []].flat(),
    isRunning: () => supervisor.isRunning(),
    signal(signal) {
      signalled = pid();
      if (signalled !== undefined) signalSafely(signalled, signal);
    },
    ended: (limitMs) => until(() => !workersOf(supervisor).includes(signalled ?? 0), limitMs),
    start: async () => {},
    isReady: () => supervisor.isReady(),
    output: () => supervisor.output(),
  };
}

function workersOf(supervisor: Part): number[] {
  const [pid] = supervisor.pids();
  if (pid === undefined) return [];
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
