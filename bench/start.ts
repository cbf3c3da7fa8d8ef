import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Benchmark, type BenchmarkResult, digits, median } from "./benchmark.ts";
import { type Checkout, checkouts } from "./checkouts.ts";
import { buildProgram, centrifugoCommand } from "./peers/peer-servers.ts";
import {
  idleMemory,
  idleMs,
  memoryTable,
  type ProcessMemory,
  type Program,
  startProgram,
} from "./started-program.ts";

const runs = 10;

/** A program, and what it takes until it listens. */
interface Contender extends Program {
  times: number[];
  /** CPU until then, also of what the launcher ran before; other load on the machine hardly changes it. */
  cpuTimes: number[];
}

export const coldStart: Benchmark = {
  name: "start",
  title: "Cold start",
  method: `From the start of the command until the port accepts a connection, with an empty data folder: ${runs} runs of each in turn, medians. \`bin/slipway\` runs the built program, as it does from the second start on. With \`--before PATH\` an earlier checkout runs in the same turns. The compiled program is measured if \`npm run compile\` has made it. Memory is the proportional set size ${idleMs / 1000} s after the start, without a request; what starts from \`bin/slipway\` shares pages of the runtime with this benchmark.`,
  async run(progress) {
    const [here, before] = checkouts();
    if (here === undefined) throw new Error("There is no checkout.");
    buildProgram(here.root);
    const contenders = [...slipways(here), ...(before ? slipways(before) : []), ...others(here)];
    for (let run = 0; run <= runs; run++) {
      for (const contender of contenders) {
        const { elapsedMs, cpuMs, stop } = await startProgram(contender);
        await stop();
        if (run === 0) continue;
        contender.times.push(elapsedMs);
        contender.cpuTimes.push(cpuMs);
      }
      progress(run === 0 ? "warm" : `run ${run} of ${runs}`);
    }
    const memory: ProcessMemory[][] = [];
    // One after the other: at once they would share the pages of their executable.
    for (const contender of contenders) {
      memory.push(...(await idleMemory([contender])));
      progress(`idle memory of ${contender.name}`);
    }
    return resultOf(contenders, memory, before !== undefined);
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

function resultOf(contenders: Contender[], memory: ProcessMemory[][], hasBefore: boolean): BenchmarkResult {
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
      memoryTable(
        contenders.map(({ name }) => name),
        memory,
      ),
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
