import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { faultKinds } from "./kinds/table.ts";
import { type PromiseName, promises } from "./reconciler/violation.ts";
import { type SetupName, setupNames } from "./setups/world.ts";

export interface SuiteOptions {
  setups: SetupName[];
  faults: string[];
  seed: number;
  durationMs: number;
  round: number | null;
  firstRound: number | null;
  resume: boolean;
  program: string;
  results: string;
  quiet: boolean;
  /** Promises with an open fault: their violations are reported and do not fail the run. */
  known: PromiseName[];
}

export type Command = { report: string[] } | { list: true } | { help: true } | { run: SuiteOptions };

/** A long run has parts, so that one part can be repeated. */
const longestPartMs = 30 * 60_000;

export const help = `npm run test:faults -- [options]

  --setup a,b        ${setupNames.join(", ")}; all of them unless given
  --faults a,b       only these kinds of faults (--list shows them)
  --seed N           determines the schedule; random and printed unless given
  --duration 10m     s, m or h; at most 30m: a longer run has several parts (--resume)
  --round N          only this round: replays a violation
  --first-round N    begin with this round
  --resume           begin after the last round of this seed in the results file
  --results FILE     JSON lines, appended (faults.jsonl)
  --program FOLDER   another checkout whose program is tested
  --quiet            print rounds, not each fault
  --known a,b        promises with an open fault: report their violations, but do not fail
  --report [FILE…]   sum up results of several parts and end
  --list             print the kinds of faults and end`;

export function parseCommand(args: string[]): Command {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      setup: { type: "string" },
      faults: { type: "string" },
      seed: { type: "string" },
      duration: { type: "string", default: "10m" },
      round: { type: "string" },
      "first-round": { type: "string" },
      resume: { type: "boolean", default: false },
      results: { type: "string", default: "faults.jsonl" },
      program: { type: "string", default: resolve(import.meta.dir, "../..") },
      quiet: { type: "boolean", default: false },
      known: { type: "string" },
      report: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return { help: true };
  if (values.list) return { list: true };
  if (values.report) return { report: positionals.length > 0 ? positionals : [values.results] };
  if (positionals.length > 0) throw new Error(`What is ${positionals.join(" ")}? See --help.`);
  const durationMs = readDuration(values.duration);
  if (durationMs > longestPartMs)
    throw new Error("A part takes at most 30m; go on with --resume and the same --seed.");
  return {
    run: {
      setups: named(values.setup, setupNames, "set-up"),
      faults:
        values.faults === undefined
          ? []
          : named(
              values.faults,
              faultKinds.map(({ name }) => name),
              "fault",
            ),
      seed:
        values.seed === undefined
          ? Math.floor(Math.random() * 1_000_000)
          : wholeNumber(values.seed, "--seed"),
      durationMs,
      round: values.round === undefined ? null : wholeNumber(values.round, "--round"),
      firstRound:
        values["first-round"] === undefined ? null : wholeNumber(values["first-round"], "--first-round"),
      resume: values.resume,
      program: resolve(values.program),
      results: values.results,
      quiet: values.quiet,
      known:
        values.known === undefined
          ? []
          : named(values.known, Object.keys(promises) as PromiseName[], "promise"),
    },
  };
}

function named<Name extends string>(text: string | undefined, known: readonly Name[], what: string): Name[] {
  if (text === undefined) return [...known];
  return text.split(",").map((name) => {
    const found = known.find((each) => each === name.trim());
    if (found === undefined) throw new Error(`There is no ${what} ${name}; known are ${known.join(", ")}.`);
    return found;
  });
}

function wholeNumber(text: string, option: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`${option} must be a whole number, not ${text}.`);
  return Number(text);
}

function readDuration(text: string): number {
  const found = /^(\d+)(s|m|h)$/.exec(text);
  if (!found) throw new Error(`--duration must look like 90s, 10m or 1h, not ${text}.`);
  const unitMs = { s: 1_000, m: 60_000, h: 3_600_000 }[found[2] as "s" | "m" | "h"];
  return Number(found[1]) * unitMs;
}
