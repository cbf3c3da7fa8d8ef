import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Benchmark, type BenchmarkResult, digits } from "./benchmark.ts";

interface FuzzFigures {
  target: string;
  inputs: number;
  seed: number;
  seconds: number;
  largestShare: number;
}

const root = resolve(import.meta.dir, "..");

export const fuzzing: Benchmark = {
  name: "fuzz",
  title: "Fuzzing",
  isLong: true,
  method:
    "The long form of `test/fuzz`: hostile input for every place that reads input of others. A run fails on a crash, on an answer 5xx, and on an input whose counted work exceeds its bound; the plot shows the largest share of the bound that one input used. `FUZZ_FIGURES` names the figures of a run that is over.",
  async run(progress) {
    const given = process.env.FUZZ_FIGURES;
    if (given) return report(readFigures(given));
    const folder = mkdtempSync(join(tmpdir(), "slipway-fuzz-"));
    const file = join(folder, "figures.jsonl");
    const child = Bun.spawn([process.execPath, "test", "--timeout=3600000", "./test/fuzz"], {
      cwd: root,
      env: { ...process.env, SLIPWAY_TEST_FULL: "1", SLIPWAY_TEST_FUZZ_REPORT: file },
      stdio: ["ignore", "ignore", "ignore"],
    });
    const code = await child.exited;
    progress(`the tests ended with ${code}`);
    const figures = readFigures(file);
    rmSync(folder, { recursive: true, force: true });
    if (code !== 0) throw new Error("A target failed; run `SLIPWAY_TEST_FULL=1 bun test test/fuzz`.");
    return report(figures);
  },
};

function readFigures(file: string): FuzzFigures[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as FuzzFigures);
}

function report(figures: FuzzFigures[]): BenchmarkResult {
  const inputs = figures.reduce((sum, figure) => sum + figure.inputs, 0);
  return {
    figures: [
      {
        name: "Inputs without a crash, an answer 5xx or work beyond the bound",
        measured: inputs.toLocaleString("en-US"),
        toReach: "≥ 1,000,000",
        isReached: inputs >= 1_000_000,
      },
    ],
    tables: [
      {
        title: "Targets",
        head: ["target", "inputs", "seed", "seconds", "largest share of the bound"],
        rows: figures.map(({ target, inputs, seed, seconds, largestShare }) => [
          target,
          inputs.toLocaleString("en-US"),
          String(seed),
          digits(seconds),
          `${(largestShare * 100).toFixed(1)} %`,
        ]),
      },
    ],
    plots: [
      {
        file: "performance-fuzz",
        title: "Largest share of the bound that one input used",
        unit: "%",
        bars: figures.map(({ target, largestShare }) => ({ label: target, value: largestShare * 100 })),
      },
    ],
  };
}
