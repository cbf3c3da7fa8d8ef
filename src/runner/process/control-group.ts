import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const prefix = "slipway-";

/**
 * Creates a control group of Linux (version 2) for one run. Every process that a member starts belongs to it, whatever the
 * session, the parent or the environment of that process. Null where this user may not create one.
 */
export function createControlGroup(name: string): string | null {
  const parent = ownGroup();
  if (parent === null) return null;
  const folder = join(parent, `${prefix}${name}`);
  try {
    mkdirSync(folder);
    return folder;
  } catch {
    return null;
  }
}

/** Limits of all processes of a group together; null: none. */
export interface GroupLimits {
  memoryBytes: number | null;
  cpus: number | null;
  processes: number | null;
}

/** The leaf of this process in a delegated group: the kernel limits only groups whose parent has no processes. */
const ownLeaf = `${prefix}self`;
const wantedControllers = ["memory", "pids", "cpu"] as const;
const periodMicroseconds = 100_000;

/**
 * Prepares limits in a group that systemd has given to this unit (Delegate=yes); returns the controllers that work. Other
 * groups have processes of others, which are left where they are.
 */
export function openGroupLimits(own: string | null = ownGroup()): string[] {
  if (own === null || !own.endsWith(".service")) return [];
  const control = join(own, "cgroup.subtree_control");
  try {
    const leaf = join(own, ownLeaf);
    mkdirSync(leaf, { recursive: true });
    for (const pid of textOf(join(own, "cgroup.procs")).split("\n").filter(Boolean))
      moveInto(leaf, Number(pid));
    for (const name of wantedControllers) writeFileSync(control, `+${name}`);
  } catch {
    // Not delegated. What was enabled before the failure is used.
  }
  const enabled = textOf(control).trim().split(/\s+/);
  return wantedControllers.filter((name) => enabled.includes(name));
}

/** Writes the limits that this group can have. */
export function setGroupLimits(folder: string, { memoryBytes, cpus, processes }: GroupLimits): void {
  const files = {
    "memory.max": memoryBytes,
    "memory.swap.max": memoryBytes === null ? null : 0,
    "pids.max": processes,
    "cpu.max": cpus === null ? null : `${Math.ceil(cpus * periodMicroseconds)} ${periodMicroseconds}`,
  };
  for (const [name, value] of Object.entries(files)) {
    if (value === null) continue;
    try {
      writeFileSync(join(folder, name), String(value));
    } catch {
      // The kernel has no swap accounting, or no such controller.
    }
  }
}

/** Moves a process; false: this user may not. */
export function moveInto(folder: string, pid: number): boolean {
  try {
    writeFileSync(join(folder, "cgroup.procs"), String(pid));
    return true;
  } catch {
    return false;
  }
}

/** The groups of version 1, where podman moves its monitor on a machine that has both versions. */
function olderGroups(pid: number | "self"): string {
  return textOf(`/proc/${pid}/cgroup`).replace(/^0::.*\n/m, "");
}

/** The processes of the group and of groups that they have made inside, except those that another manager has moved. */
export function membersOf(folder: string): number[] {
  const older = olderGroups("self");
  const own = textOf(join(folder, "cgroup.procs"))
    .split("\n")
    .filter(Boolean)
    .map(Number)
    .filter((pid) => olderGroups(pid) === older);
  return [...own, ...groupsIn(folder).flatMap((name) => membersOf(join(folder, name)))];
}

/** Does nothing while it has processes: those of a service may continue. */
export function removeControlGroup(folder: string): void {
  for (const name of groupsIn(folder)) removeControlGroup(join(folder, name));
  try {
    rmdirSync(folder);
  } catch {
    // A later start of a runner removes it.
  }
}

/** Removes the empty groups of earlier runs. */
export function sweepControlGroups(): void {
  const parent = ownGroup();
  if (parent === null) return;
  for (const name of groupsIn(parent)) if (name.startsWith(prefix)) removeControlGroup(join(parent, name));
}

/** The folder of the group that this process is in. */
function ownGroup(): string | null {
  const path = /^0::(\/.*)$/m.exec(textOf("/proc/self/cgroup"))?.[1];
  const mount = textOf("/proc/self/mountinfo")
    .split("\n")
    .find((line) => / - cgroup2 /.test(line))
    ?.split(" ")[4];
  if (path === undefined || mount === undefined || path.includes("/..")) return null;
  const folder = join(mount, path);
  return basename(folder) === ownLeaf ? dirname(folder) : folder;
}

function groupsIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
