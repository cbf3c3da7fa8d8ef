import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort } from "../test/support/free-port.ts";
import { type Benchmark, type BenchmarkResult, digits, median } from "./benchmark.ts";
import { type Checkout, checkouts } from "./checkouts.ts";
import { untilListening } from "./listening.ts";
import { buildProgram, centrifugoCommand } from "./peers/peer-servers.ts";

const runs = 10;

/** A program, and what it takes until it listens. */
interface Contender {
  name: string;
  command(port: number, folder: string): string[];
  env?(port: number): Record<string, string>;
  times: number[];
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
        const elapsedMs = await timeToListen(contender);
        if (run > 0) contender.times.push(elapsedMs);
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
    },
    ...(centrifugo ? [{ name: "Centrifugo", command: centrifugo, times: [] }] : []),
  ];
}

async function timeToListen({ command, env }: Contender): Promise<number> {
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
    return await untilListening(child, port, startedAt);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

function resultOf(contenders: Contender[], hasBefore: boolean): BenchmarkResult {
  const timeOf = (name: string) =>
    median(contenders.find((contender) => contender.name === name)?.times ?? []);
  const figure = (role: string, most: number) => {
    const [now, earlier] = [
      timeOf(`Slipway, bin/slipway ${role}`),
      timeOf(`Slipway, before, bin/slipway ${role}`),
    ];
    return {
      name: `bin/slipway ${role} listens`,
      measured: `after ${digits(now)} ms, ${digits(now / earlier)} × before`,
      toReach: `≤ ${most} × before`,
      isReached: now / earlier <= most,
    };
  };
  return {
    figures: hasBefore ? [figure("push", 0.35), figure("start", 0.5)] : [],
    tables: [
      {
        title: "Until the port accepts a connection",
        head: ["program", "median, ms", "least, ms"],
        rows: contenders.map(({ name, times }) => [name, digits(median(times)), digits(Math.min(...times))]),
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
