import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort } from "../test/support/free-port.ts";
import { type Benchmark, type BenchmarkResult, digits, median } from "./benchmark.ts";
import { type Checkout, checkouts } from "./checkouts.ts";
import { untilListening } from "./listening.ts";
import { buildProgram, centrifugoCommand } from "./peers/peer-servers.ts";

const runs = 10;
const msPerTick = 10;

/** A program, and what it takes until it listens. */
interface Contender {
  name: string;
  command(port: number, folder: string): string[];
  env?(port: number): Record<string, string>;
  times: number[];
  /** CPU until then, also of what the launcher ran before; other load on the machine hardly changes it. */
  cpuTimes: number[];
}

export const coldStart: Benchmark = {
  name: "start",
  title: "Cold start",
  method: `From the start of the command until the port accepts a connection, with an empty data folder: ${runs} runs of each in turn, medians. \`bin/slipway\` runs the built program, as it does from the second start on. With \`--before PATH\` an earlier checkout runs in the same turns. The compiled program is measured if \`npm run compile\` has made it.`,
  async run(progress) {
    const [here, before] = checkouts();
    if (here === undefined) throw new Error("There is no checkout.");
    buildProgram(here.root);
    const contenders = [...slipways(here), ...(before ? slipways(before) : []), ...others(here)];
    for (let run = 0; run <= runs; run++) {
      for (const contender of contenders) {
        const { elapsedMs, cpuMs } = await startOnce(contender);
        if (run === 0) continue;
        contender.times.push(elapsedMs);
        contender.cpuTimes.push(cpuMs);
      }
      progress(run === 0 ? "warm" : `run ${run} of ${runs}`);
    }
    return resultOf(contenders, before !== undefined);
  },
};

const settingsOf = (port: number, folder: string) => [
  "--server-listen",
  `127.0.0.1:${port}`,
  "--data-dir",
  join(folder, "data"),
  "--push-verify-uri",
  "http://127.0.0.1:9/verify",
];

function slipways({ name, root }: Checkout): Contender[] {
  const compiled = join(root, "dist/slipway");
  const contender = (label: string, program: string, role: string): Contender => ({
    name: `${name}, ${label} ${role}`,
    command: (port, folder) => [program, role, ...settingsOf(port, folder)],
    times: [],
    cpuTimes: [],
  });
  return ["push", "start"].flatMap((role) => [
    contender("bin/slipway", join(root, "bin/slipway"), role),
    ...(existsSync(compiled) ? [contender("compiled", compiled, role)] : []),
  ]);
}

function others({ root }: Checkout): Contender[] {
  const centrifugo = centrifugoCommand();
  return [
    {
      name: "Bun, bare",
      command: () => [process.execPath, resolve(root, "bench/peers/bare-bun.ts")],
      env: (port) => ({ PORT: String(port) }),
      times: [],
      cpuTimes: [],
    },
    ...(centrifugo ? [{ name: "Centrifugo", command: centrifugo, times: [], cpuTimes: [] }] : []),
  ];
}

async function startOnce({ command, env }: Contender): Promise<{ elapsedMs: number; cpuMs: number }> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-bench-"));
  const port = freePort();
  const startedAt = performance.now();
  const child = Bun.spawn(command(port, folder), {
    cwd: folder,
    env: { ...process.env, ...env?.(port) },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  try {
    const elapsedMs = await untilListening(child, port, startedAt);
    return { elapsedMs, cpuMs: cpuOf(child.pid) };
  } finally {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Also of children that have ended: the earlier launcher started Node before the program. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const ticks = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return ticks.reduce((sum, value) => sum + Number(value), 0) * msPerTick;
}

function resultOf(contenders: Contender[], hasBefore: boolean): BenchmarkResult {
  const of = (name: string) => contenders.find((contender) => contender.name === name);
  const timeOf = (name: string) => median(of(name)?.times ?? []);
  const cpuTimeOf = (name: string) => median(of(name)?.cpuTimes ?? []);
  const figure = (role: string, most: number) => {
    const [own, earlier] = [`Slipway, bin/slipway ${role}`, `Slipway, before, bin/slipway ${role}`];
    const ratio = timeOf(own) / timeOf(earlier);
    return {
      name: `bin/slipway ${role} listens`,
      measured: `after ${digits(timeOf(own))} ms, ${digits(ratio)} × before; with ${digits(cpuTimeOf(own) / cpuTimeOf(earlier))} × the CPU`,
      toReach: `≤ ${most} × before`,
      isReached: ratio <= most,
    };
  };
  return {
    figures: hasBefore ? [figure("push", 0.35), figure("start", 0.5)] : [],
    tables: [
      {
        title: "Until the port accepts a connection",
        head: ["program", "median, ms", "least, ms", "CPU until then, median, ms"],
        rows: contenders.map(({ name, times, cpuTimes }) => [
          name,
          digits(median(times)),
          digits(Math.min(...times)),
          digits(median(cpuTimes)),
        ]),
      },
    ],
    plots: [
      {
        file: "performance-start",
        title: "Cold start",
        unit: "ms",
        bars: contenders.map(({ name, times }) => ({ label: name, value: median(times) })),
      },
    ],
  };
}
