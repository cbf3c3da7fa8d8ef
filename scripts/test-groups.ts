import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import { type Counts, countJunit, type FileTime, fileTimes, GroupOutput } from "./test-output.ts";

export interface Group {
  name: string;
  files: string[];
}

export interface GroupResult extends Counts {
  name: string;
  /** The name of each failed test, and its error. */
  failures: string[];
  files: FileTime[];
  ms: number;
}

export const root = resolve(import.meta.dir, "..");

/**
 * The fastest group runs first, then the longest, so that none runs when all others have ended, then the others by name;
 * groups that use the whole machine run last and alone.
 */
const first = [
  ...["unit", "console", "task", "contract", "faults", "webhook"],
  ...["releases", "push", "cluster", "clients", "security", "api"],
];
const alone = ["fault-suite", "load"];
/** Groups that would still run when all others have ended. */
const halved = ["console", "task"];

export function runsAlone(group: Group): boolean {
  return alone.includes(group.name);
}

/** The processes of a group: one, or two for a long group, with every other file each. */
export function processesOf({ name, files }: Group): Group[] {
  if (!halved.includes(name) || files.length < 2) return [{ name, files }];
  return [0, 1].map((half) => ({
    name: `${name} ${half + 1}/2`,
    files: files.filter((_, index) => index % 2 === half),
  }));
}

/** All test files of the repository, grouped by their folder in test/. */
export function findGroups(): Group[] {
  const groups = new Map<string, string[]>();
  for (const file of new Glob("{test,client,console,src,bench,scripts}/**/*.test.{ts,tsx}").scanSync(root)) {
    const [top = "", folder = ""] = file.split("/");
    const name = top === "test" && !folder.includes(".") ? folder : top;
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  return [...groups]
    .map(([name, files]) => ({ name, files: files.sort() }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
}

function rank(name: string): number {
  if (first.includes(name)) return first.indexOf(name) - first.length;
  return alone.indexOf(name) + 1;
}

/** Long enough for a test that starts several servers on a busy machine; a longer test states its own limit. */
const testTimeoutMs = 120_000;
const lastWordsMs = 2_000;
const lookEveryMs = 500;

/**
 * Runs a group as a separate process, so that a crash or hang is one failure and the other groups still run. A process in
 * which no test ends for `stallLimitMs` hangs: a limit of the whole time would fail a slow machine instead.
 */
export async function runGroup(
  group: Group,
  environment: Record<string, string>,
  stallLimitMs = 5 * 60_000,
): Promise<GroupResult> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "slipway-test-"));
  const reportFile = join(folder, "junit.xml");
  const child = Bun.spawn(
    [process.execPath, "test", `--timeout=${testTimeoutMs}`, "--reporter=junit"].concat(
      [`--reporter-outfile=${reportFile}`],
      group.files.map((file) => `./${file}`),
    ),
    {
      cwd: root,
      env: { ...process.env, ...environment, FORCE_COLOR: "0" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // A separate process group, so that processes that a test left running end with it.
      detached: true,
    },
  );
  const endNow = () => endProcessGroup(child.pid);
  process.on("exit", endNow);
  const seen = new GroupOutput(group.name);
  let endedAfterMs: number | null = null;
  const watch = setInterval(() => {
    const limitMs = Math.max(stallLimitMs, seen.announcedLimitMs + lookEveryMs);
    if (seen.stalledMs() < limitMs) return;
    endedAfterMs = limitMs;
    endNow();
  }, lookEveryMs);
  const reading = Promise.all([seen.read(child.stdout), seen.read(child.stderr)]);
  const code = await child.exited;
  clearInterval(watch);
  endNow();
  process.off("exit", endNow);
  // A process that survived may still hold the pipes, so this does not wait for their end.
  await Promise.race([reading, Bun.sleep(lastWordsMs)]);
  seen.end(code !== 0);
  const junit = Bun.file(reportFile);
  const text = (await junit.exists()) ? await junit.text() : undefined;
  const counted = text === undefined ? undefined : countJunit(text);
  const files = fileTimes(text ?? "");
  rmSync(folder, { recursive: true, force: true });

  const ms = performance.now() - startedAt;
  const { failures } = seen;
  // An error outside of a test is not in the report.
  const failed = Math.max(counted?.failed ?? 0, failures.length);
  const result = { ...(counted ?? seen.counts()), failed, name: group.name, failures, files, ms };
  if (code === 0 || (counted && failed > 0)) return result;
  const reason =
    endedAfterMs !== null
      ? `was ended because no test ended within ${Math.round(endedAfterMs / 1000)} s`
      : `the test process ended with ${child.signalCode ?? `code ${code}`}${counted ? "" : " before its report"}`;
  return { ...result, failed: failed + 1, failures: [...failures, reason] };
}

function endProcessGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // No process is left.
  }
}
