import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Part, timePasses, until } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import { findFakeTime } from "../tools.ts";
import { type FaultKind, instanceNames, partNamed } from "./fault-kind.ts";

const startLimitMs = 90_000;

const fullDisk: FaultKind = {
  name: "full-disk",
  about: "the file system of the server's data is full",
  targets: ({ disk }) => (disk ? ["data folder"] : []),
  async inject({ disk }, _target, random, probe) {
    disk?.fill();
    await timePasses(random.between(3_000, 5_000));
    const found = await probe.whileBroken();
    disk?.free();
    return found;
  },
};

const readOnlyDisk: FaultKind = {
  name: "read-only-disk",
  about: "the server starts on a read-only file system, then again on a writable one",
  breaksLogFile: true,
  endsOthers: true,
  targets: ({ disk }) => (disk ? ["data folder"] : []),
  async inject(world, _target, random, probe) {
    const own = world.parts.filter(({ name }) => name === "server" || name === "local runner");
    for (const part of own) part.signal("SIGKILL");
    for (const part of own) await part.ended(10_000);
    const server = partNamed(world, "server");
    world.disk?.setReadOnly(true);
    try {
      await server.start();
      await timePasses(random.between(2_000, 4_000));
      return await probe.whileBroken();
    } finally {
      server.signal("SIGKILL");
      await server.ended(10_000);
      world.disk?.setReadOnly(false);
      await server.start();
    }
  },
};

const fewFiles: FaultKind = {
  name: "few-files",
  about: "the limit of open files leaves room for at most one more",
  targets: (world) => (Bun.which("prlimit") ? instanceNames(world) : []),
  async inject(world, target, random) {
    const limited = partNamed(world, target)
      .pids()
      .map((pid) => ({ pid, before: fileLimitOf(pid) }));
    for (const { pid } of limited) limitFiles(pid, lowestFreeFile(pid) + random.between(0, 1));
    await timePasses(random.between(2_000, 5_000));
    // The runtime ends a process that cannot open a file of its own code; its supervisor starts it again.
    for (const { pid, before } of limited) if (existsSync(`/proc/${pid}/limits`)) limitFiles(pid, before);
  },
};

function fileLimitOf(pid: number): number {
  const found = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"));
  return Number(found?.[1] ?? 1024);
}

/** The limit applies to the descriptor of a new file, which is the lowest free number. */
function lowestFreeFile(pid: number): number {
  const taken = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (taken.has(free)) free++;
  return free;
}

function limitFiles(pid: number, limit: number): void {
  const { exitCode } = Bun.spawnSync(["prlimit", "--pid", String(pid), `--nofile=${limit}:`]);
  if (exitCode !== 0) throw new Error(`prlimit could not set ${limit} open files.`);
}

/** Servers, gateways and remote runners: the suite starts them itself, with a clock of their own. */
function clockedParts({ instances, runnerTokens }: World): Part[] {
  return [...instances, ...runnerTokens].map(({ part }) => part);
}

function clockStep(name: string, about: string, steps: string[]): FaultKind {
  return {
    name,
    about,
    targets: (world) => (findFakeTime() ? clockedParts(world).map((part) => part.name) : []),
    async inject(world, target, random) {
      const part = partNamed(world, target);
      const file = join(world.folder, `clock-${target.replaceAll(" ", "-")}`);
      writeFileSync(file, "+0");
      part.signal("SIGKILL");
      await part.ended(10_000);
      await part.start({
        environment: {
          LD_PRELOAD: findFakeTime() ?? "",
          FAKETIME_TIMESTAMP_FILE: file,
          FAKETIME_NO_CACHE: "1",
          // Elapsed time is not changed, as on a machine whose clock is set.
          FAKETIME_DONT_FAKE_MONOTONIC: "1",
        },
      });
      await until(() => part.isReady(), startLimitMs);
      for (const step of steps) {
        await timePasses(random.between(1_500, 3_000));
        world.timeline.add(`the clock of ${target} is ${step} s`);
        writeFileSync(file, step);
      }
      await timePasses(2_000);
      return undefined;
    },
  };
}

const clockForward = clockStep("clock-forward", "the clock is two hours ahead for some seconds", [
  "+7200",
  "+0",
]);
const clockBack = clockStep("clock-back", "the clock is an hour behind for some seconds", ["-3600", "+0"]);

export const resourceFaults = [fullDisk, readOnlyDisk, fewFiles, clockForward, clockBack];
