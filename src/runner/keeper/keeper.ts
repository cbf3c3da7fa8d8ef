import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { machineClock } from "../../clock.ts";
import type { FileCalls } from "../../system/file-calls.ts";
import { replaceFile } from "../../whole-file.ts";
import { type EngineName, removeContainer } from "../process/container.ts";
import {
  createControlGroup,
  type GroupLimits,
  moveInto,
  removeControlGroup,
  setGroupLimits,
} from "../process/control-group.ts";
import { endRecorded, treeOf } from "../process/process-tree.ts";
import { assignments, quoted } from "../stage/step-files.ts";
import keeperScript from "./keeper.sh" with { type: "text" };
import { holdersOfFile, processesOf, readProcessTable } from "./process-table.ts";

/** What a keeper runs. */
export interface KeptProgram {
  kind: "sandbox" | "container" | "none";
  /** Reads the variables from its input. */
  command: string[];
  cwd: string;
  /** Variables of the program. */
  variables: Record<string, string>;
  /** Those of the programs before it. */
  env: Record<string, string>;
  /** Limits of its control group; null: none. */
  limits: GroupLimits | null;
  container: { engine: EngineName; name: string; image: string } | null;
}

/** What a keeper has written about its service. Times are seconds since the start of the machine. */
export interface KeeperState {
  boot: string;
  keeper: { pid: number; startedAt: string };
  /** The copy that runs, or ran last; pid 0: none yet. */
  child: { pid: number; startedAt: string };
  /** `waiting`: before the next start. `ended`: it is not started again. `stopped`: the keeper was asked to end it. */
  phase: "running" | "waiting" | "ended" | "stopped";
  since: number;
  started: number;
  restarts: number;
  /** When it ended by itself, the last five times. */
  exits: number[];
  /** Exit code of the last end. */
  last: number | null;
}

export interface KeeperRules {
  restart: "always" | "on-failure" | "never";
  graceSeconds: number;
  outputMaxBytes: number;
}

/** A keeper that does not end itself gets this much more time than its service. */
const keeperPatienceMs = 10_000;
const pollEveryMs = 50;
const lockDescriptor = 3;
const copyDescriptor = 4;

export const outputFile = "output";

/** Which boot of the machine this is: process ids and times of a keeper count within one boot. */
export const currentBoot = machineClock()?.boot ?? "";

/** The keeper of the instance in this folder. */
export function openKeeper(folder: string, calls: FileCalls) {
  const at = (name: string) => join(folder, name);
  const lockFile = at("lock");
  const isAlive = () => calls.isLocked(lockFile);

  /** Null: there is none yet, or it is from before the machine was started again. */
  function state(): KeeperState | null {
    try {
      const read = parseState(readFileSync(at("state"), "utf8"));
      return read.boot === currentBoot ? read : null;
    } catch {
      return null;
    }
  }

  /** Starts the keeper, after what an earlier one may have left has ended. Does nothing if one lives. */
  async function start(prepared: KeptProgram, rules: KeeperRules): Promise<void> {
    if (isAlive()) return;
    await endCopies(prepared.container, rules.graceSeconds * 1000);
    if (prepared.kind === "none") await endSession();
    // What an earlier keeper has written says nothing of this one.
    rmSync(at("state"), { force: true });
    replaceFile(at("env"), assignments(prepared.variables));
    replaceFile(at("settings"), settingsText(prepared, rules));
    replaceFile(at("keeper"), keeperScript);
    const lock = openSync(lockFile, "a", 0o600);
    try {
      // Another process of this runner's folder was faster.
      if (!calls.lock(lock)) return;
      const group = groupFor(prepared);
      const child = Bun.spawn([Bun.which("sh", prepared.env) ?? "sh", at("keeper"), folder], {
        cwd: "/",
        env: prepared.env,
        stdio: ["pipe", "ignore", "ignore", lock],
        detached: true,
      });
      if (group !== null) moveInto(group, child.pid);
      child.stdin.write("\n");
      await child.stdin.end();
      child.unref();
    } finally {
      closeSync(lock);
    }
  }

  /** The group of the keeper and its service, for limits and figures. */
  function groupFor({ limits }: KeptProgram): string | null {
    const former = groupOf();
    if (former !== null) removeControlGroup(former);
    const group = limits === null ? null : createControlGroup(groupName(folder));
    if (group === null || limits === null) return null;
    setGroupLimits(group, limits);
    writeFileSync(at("group"), group, { mode: 0o600 });
    return group;
  }

  function groupOf(): string | null {
    try {
      const group = readFileSync(at("group"), "utf8");
      return existsSync(group) ? group : null;
    } catch {
      return null;
    }
  }

  /** Ends the service and its keeper. */
  async function stop(container: KeptProgram["container"], graceSeconds: number): Promise<void> {
    const giveUpAt = performance.now() + graceSeconds * 1000 + keeperPatienceMs;
    let termed = new Set<number>();
    while (isAlive() && performance.now() < giveUpAt) {
      // By the lock, never by a number that another process may have by now.
      const holders = holdersOfFile(lockDescriptor, lockFile);
      for (const pid of holders) if (!termed.has(pid)) signal(pid, "SIGTERM");
      termed = new Set(holders);
      await Bun.sleep(pollEveryMs);
    }
    for (const pid of holdersOfFile(lockDescriptor, lockFile)) signal(pid, "SIGKILL");
    await endCopies(container, 0);
    const group = groupOf();
    if (group !== null) removeControlGroup(group);
  }

  /**
   * Ends what a keeper that was killed has left: a sandbox ends with its keeper, a session does not. The first process of a copy
   * has the file `copy` open.
   */
  async function endCopies(container: KeptProgram["container"], graceMs: number): Promise<void> {
    if (container !== null) await removeContainer({ ...container, folder: at("none") });
    const first = () => holdersOfFile(copyDescriptor, at("copy"));
    const left = new Set<number>();
    const startTimes = new Map<number, string>();
    const note = () => {
      const table = readProcessTable();
      for (const pid of first().flatMap((found) => [...processesOf(found, table)])) {
        left.add(pid);
        startTimes.set(pid, table.get(pid)?.startedAt ?? "");
      }
      for (const pid of left) if (table.get(pid)?.startedAt !== startTimes.get(pid)) left.delete(pid);
    };
    note();
    for (const pid of first()) signal(pid, "SIGTERM");
    const killAt = performance.now() + graceMs;
    const giveUpAt = killAt + keeperPatienceMs;
    for (; left.size > 0 && performance.now() < giveUpAt; note()) {
      if (performance.now() >= killAt) for (const pid of left) signal(pid, "SIGKILL");
      await Bun.sleep(pollEveryMs);
    }
    if (left.size > 0)
      throw new Error(`the processes ${[...left].join(", ")} of an earlier copy could not be ended`);
  }

  /** What the last copy has left in its session, if its first process has ended, too. */
  async function endSession(): Promise<void> {
    if (!existsSync(at("session"))) return;
    const [boot, pid = "", startedAt = ""] = readFileSync(at("session"), "utf8").trim().split(" ");
    if (boot === currentBoot) await endRecorded({ ...treeOf(Number(pid)), startedAt }, 0);
  }

  return { folder, isAlive, state, start, stop, group: groupOf };
}

/** `services/7/web/12-1` becomes a name that is unique among the groups of this runner. */
function groupName(folder: string): string {
  return `service-${folder.split("/").slice(-3).join("-")}`;
}

function settingsText(prepared: KeptProgram, rules: KeeperRules): string {
  const { kind, cwd, command, container } = prepared;
  const words = (list: string[]) => list.map(quoted).join(" ");
  const ignore = container?.engine === "podman" ? ["--ignore"] : [];
  return [
    `kind=${kind} restart=${rules.restart} grace=${rules.graceSeconds}`,
    // Twice the bound that the runner keeps, in KiB.
    `bound=${Math.ceil((rules.outputMaxBytes * 2) / 1024)}`,
    `start() { cd ${quoted(cwd)} && unset OLDPWD && exec ${words(command)}; }`,
    `remove() { ${container === null ? ":" : `${words([container.engine, "rm", "--force", ...ignore, container.name])} >/dev/null 3>&-`}; }`,
    "",
  ].join("\n");
}

function parseState(text: string): KeeperState {
  const rows = new Map(text.split("\n").map((line) => [line.split(" ")[0] ?? "", line.split(" ").slice(1)]));
  const row = (name: string) => rows.get(name) ?? [];
  const identity = (name: string) => ({ pid: Number(row(name)[0]), startedAt: row(name)[1] ?? "" });
  const [phase = "", since = ""] = row("phase");
  const last = Number(row("last")[0]);
  return {
    boot: row("boot")[0] ?? "",
    keeper: identity("keeper"),
    child: identity("child"),
    phase: phase as KeeperState["phase"],
    since: Number(since),
    started: Number(row("started")[0]),
    restarts: Number(row("restarts")[0]),
    exits: row("exits").filter(Boolean).map(Number),
    last: Number.isNaN(last) ? null : last,
  };
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
