/**
 * Injects faults while the product is under load, and compares what it acknowledged with what happened.
 * See docs/testing.md and `npm run test:faults -- --help`.
 */
import { stopAllNow } from "../support/service-process.ts";
import { faultKinds } from "./kinds/table.ts";
import { help, parseCommand, type SuiteOptions } from "./options.ts";
import type { PromiseName, Violation } from "./reconciler/violation.ts";
import { reportOf } from "./report.ts";
import { appendResult, nextRound, type RoundResult, readResults, replayCommand } from "./results.ts";
import { runSetup } from "./run-setup.ts";
import { missingTools } from "./tools.ts";

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stopAllNow();
    process.exit(130);
  });
}

process.exit(await main());

async function main(): Promise<number> {
  try {
    const command = parseCommand(process.argv.slice(2));
    if ("help" in command) console.log(help);
    else if ("list" in command)
      for (const { name, about } of faultKinds) console.log(`${name.padEnd(22)} ${about}`);
    else if ("report" in command) {
      const results = readResults(command.report);
      console.log(reportOf(results));
      return results.some(({ violations }) => violations.length > 0) ? 1 : 0;
    } else return await run(command.run);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
}

async function run(options: SuiteOptions): Promise<number> {
  const missing = await missingTools();
  for (const text of missing) console.log(`LEFT OUT ${text}`);
  // Under CI a missing tool fails the run, so that a green run means that every fault was tried.
  if (process.env.CI && missing.length > 0) return 2;
  const earlier = readResults([options.results]);
  const results: RoundResult[] = [];
  console.log(`seed ${options.seed}, ${options.setups.join(", ")}, results in ${options.results}`);
  const ends = await Promise.allSettled(
    options.setups.map((setup) =>
      runSetup({
        setup,
        program: options.program,
        seed: options.seed,
        wanted: options.faults,
        firstRound:
          options.round ??
          options.firstRound ??
          (options.resume ? nextRound(earlier, setup, options.seed) : 0),
        lastRound: options.round,
        durationMs: options.durationMs,
        logs: `${options.results}.logs`,
        print: (line) => {
          if (!options.quiet || / (round|VIOLATION) /.test(line)) console.log(line);
        },
        onRound(complete) {
          const result = withoutKnown(complete, options.known);
          results.push(result);
          appendResult(options.results, result);
          if (result.violations.length > 0) explain(result);
        },
      }),
    ),
  );
  console.log(`\n${reportOf(results)}`);
  const broken = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  for (const reason of broken) console.error(reason);
  if (broken.length > 0) return 2;
  return results.some(({ violations }) => violations.length > 0) ? 1 : 0;
}

/** Prints violations of promises with an open fault and removes them from the result. */
function withoutKnown(result: RoundResult, known: PromiseName[]): RoundResult {
  const isKnown = ({ promise }: Violation) => known.includes(promise);
  for (const { promise, text } of result.violations.filter(isKnown))
    console.log(`KNOWN ${promise}: ${text} (${replayCommand(result)})`);
  return { ...result, violations: result.violations.filter((violation) => !isKnown(violation)) };
}

function explain(result: RoundResult): void {
  console.log(
    `\n${result.setup}: ${result.violations.length} violations with seed ${result.seed}, round ${result.round}`,
  );
  console.log("Timeline:");
  for (const line of result.timeline) console.log(`  ${line}`);
  console.log(`Replay: ${replayCommand(result)}\n`);
}
