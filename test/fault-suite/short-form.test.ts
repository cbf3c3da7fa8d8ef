import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pick } from "../support/length.ts";
import { longTest } from "../support/long-test.ts";
import { serviceUrl } from "../support/services.ts";
import type { SetupName } from "./setups/world.ts";

const duration = pick("100s", "20m");
/** The long form has about 100 kills. */
const killDuration = pick("25s", "14m");
/** The load, plus at most as long for the last round to settle; doubled for a slow machine. */
const limitMs = longTest(pick(480_000, 40 * 60_000));
/** Consecutive runs take consecutive rounds of one seed, which contain every kind of fault; then the next seed begins. */
const runsPerSeed = 5;

/** Increases with each commit, so that CI covers all kinds of faults within a few runs. */
function runNumber(): number {
  const { exitCode, stdout } = Bun.spawnSync(["git", "rev-list", "--count", "HEAD"], {
    cwd: import.meta.dir,
  });
  const count = exitCode === 0 ? Number(stdout.toString()) : 0;
  return count > 0 ? count : Math.floor(Date.now() / 86_400_000);
}

/** Consecutive runs take turns: all set-ups at once, with their brokers, starve each other on two cores. */
const turns = [
  ["sqlite", "workers", "rabbitmq"],
  ["postgres", "kafka"],
] as const satisfies SetupName[][];

async function availableSetups(): Promise<SetupName[]> {
  const [postgres, rabbitmq, kafka] = await Promise.all([
    serviceUrl("postgres"),
    serviceUrl("amqp"),
    serviceUrl("kafka"),
  ]);
  const needed: Partial<Record<SetupName, string | undefined>> = { postgres, rabbitmq, kafka };
  const turn = turns[runNumber() % turns.length] ?? [];
  const available = turn.filter((name) => !(name in needed) || needed[name] !== undefined);
  return available.length > 0 ? available : ["sqlite", "workers"];
}

interface SuiteResult {
  exitCode: number;
  hasFaults: boolean;
  violations: string[];
}

async function runSuite(command: string[]): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-fault-suite-"));
  const child = Bun.spawn(
    [
      ...[process.execPath, join(import.meta.dir, "run.ts"), "--quiet", ...command],
      ...["--seed", String(Math.floor(runNumber() / runsPerSeed))],
      ...["--first-round", String(runNumber() % runsPerSeed), "--results", join(folder, "results.jsonl")],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [output, problems, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  console.log(output + problems);
  rmSync(folder, { recursive: true, force: true });
  const violations = output.match(/(?<=^.* s {2}VIOLATION ).*$/gm) ?? [];
  return {
    exitCode,
    hasFaults: /^[1-9]\d* faults, \d+ violations$/m.test(output),
    violations: [...new Set(violations)],
  };
}

const noViolation: SuiteResult = { exitCode: 0, hasFaults: true, violations: [] };

test(
  "the fault suite finds no violation in the set-ups whose turn it is (short form)",
  async () => {
    const setups = (await availableSetups()).join();
    expect(await runSuite(["--setup", setups, "--duration", duration])).toEqual(noViolation);
  },
  limitMs,
);

test(
  "services, keepers, runners and servers are killed at random moments of deploys: what should serve serves, once",
  async () => {
    const command = ["--setup", "sqlite", "--faults", "kill-in-deploy", "--duration", killDuration];
    expect(await runSuite(command)).toEqual(noViolation);
  },
  limitMs,
);
