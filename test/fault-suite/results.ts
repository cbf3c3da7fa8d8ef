import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Violation } from "./reconciler/violation.ts";
import type { SetupName } from "./setups/world.ts";

/** The result of one round; a line of the results file. */
export interface RoundResult {
  setup: SetupName;
  seed: number;
  round: number;
  /** Selected kinds; empty: all. */
  wanted: string[];
  finishedAt: string;
  seconds: number;
  faults: { kind: string; target: string; seconds: number }[];
  load: Record<string, number>;
  /** In seconds. */
  longest: Record<string, number>;
  violations: Violation[];
  /** Only if there are violations. */
  timeline: string[];
}

export function appendResult(file: string, result: RoundResult): void {
  appendFileSync(file, `${JSON.stringify(result)}\n`);
}

export function readResults(files: string[]): RoundResult[] {
  return files.flatMap((file) =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line) as RoundResult)
      : [],
  );
}

/** The next round of this seed and set-up. */
export function nextRound(results: RoundResult[], setup: SetupName, seed: number): number {
  const rounds = results.filter((result) => result.setup === setup && result.seed === seed);
  return Math.max(-1, ...rounds.map(({ round }) => round)) + 1;
}

const shownPerPromise = 5;

/** A few examples of each violated promise, and their number. */
export function violationLines(violations: Violation[]): string[] {
  return [...Map.groupBy(violations, ({ promise }) => promise)].flatMap(([promise, all]) => [
    ...all.slice(0, shownPerPromise).map(({ text }) => `${promise}: ${text}`),
    ...(all.length > shownPerPromise ? [`${promise}: and ${all.length - shownPerPromise} more`] : []),
  ]);
}

export function replayCommand({ setup, seed, round, wanted }: RoundResult): string {
  const faults = wanted.length > 0 ? ` --faults ${wanted.join(",")}` : "";
  return `npm run test:faults -- --setup ${setup} --seed ${seed} --round ${round}${faults}`;
}
