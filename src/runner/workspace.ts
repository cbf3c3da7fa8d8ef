import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import {
  endMarked,
  identityOf,
  isSameProcessAlive,
  type ProcessIdentity,
  type ProcessTree,
} from "./process-tree.ts";

/**
 * `live`: the workspace of a project's last successful task stays, because what it started may run from there; all
 * others go with their task. `none`: all go.
 */
export type WorkspacePolicy = "live" | "none";

/** The folder of one attempt. */
export interface Workspace {
  /** The checked-out files. */
  source: string;
  /** Scripts and what else the task needs outside the checkout. */
  scripts: string;
  /** Written down, so that the next start can end what a killed runner left. */
  noteTree(tree: ProcessTree): void;
  /** The task is over: keeps or removes the folder by the policy. */
  close(hasSucceeded: boolean): Promise<void>;
}

interface RunRecord {
  owner: ProcessIdentity;
  trees: ProcessTree[];
  isKept: boolean;
}

export interface Workspaces {
  cacheOf(projectId: number): string;
  temp: string;
  knownHosts: string;
  open(projectId: number, taskId: number, attempt: number): Promise<Workspace>;
  /** Ends processes and removes folders of runners that are dead; answers how many folders. */
  sweep(stopGraceMs: number): Promise<number>;
}

const recordName = "run.json";

/** All that a runner keeps on disk: `cache/` (clones by project), `work/` (workspaces), `tmp/`. */
export function openWorkspaces(root: string, policy: WorkspacePolicy): Workspaces {
  const work = join(root, "work");
  const temp = join(root, "tmp");
  for (const folder of [work, temp, join(root, "cache")]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owner = identityOf(process.pid);

  return {
    temp,
    knownHosts: join(root, "known_hosts"),
    cacheOf: (projectId) => join(root, "cache", `project-${projectId}.git`),
    async open(projectId, taskId, attempt) {
      const ofProject = join(work, `project-${projectId}`);
      const folder = join(ofProject, `task-${taskId}-${attempt}`);
      await removeFolder(folder);
      const scripts = join(folder, "scripts");
      mkdirSync(scripts, { recursive: true, mode: 0o700 });
      const record: RunRecord = { owner, trees: [], isKept: false };
      writeRecord(folder, record);
      return {
        source: join(folder, "source"),
        scripts,
        noteTree(tree) {
          record.trees.push(tree);
          writeRecord(folder, record);
        },
        async close(hasSucceeded) {
          if (!hasSucceeded || policy === "none") return removeFolder(folder);
          writeRecord(folder, { owner, trees: [], isKept: true });
          for (const name of readdirSync(ofProject))
            if (join(ofProject, name) !== folder) await removeFolder(join(ofProject, name));
        },
      };
    },
    async sweep(stopGraceMs) {
      let swept = 0;
      for (const project of readdirSync(work)) {
        for (const name of readdirSync(join(work, project))) {
          const folder = join(work, project, name);
          const record = readRecord(folder);
          if (record?.isKept || (record && isSameProcessAlive(record.owner))) continue;
          for (const tree of record?.trees ?? []) await endMarked(tree.mark, stopGraceMs);
          await removeFolder(folder);
          swept += 1;
        }
      }
      return swept;
    },
  };
}

function writeRecord(folder: string, record: RunRecord): void {
  writeFileSync(join(folder, recordName), JSON.stringify(record), { mode: 0o600 });
}

function readRecord(folder: string): RunRecord | null {
  try {
    return JSON.parse(readFileSync(join(folder, recordName), "utf8")) as RunRecord;
  } catch {
    return null;
  }
}

/** Removes a folder even when a build made parts of it read-only, as package caches do. */
async function removeFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await makeWritable(folder);
    await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
      throw new Error(`The workspace ${folder} could not be removed: ${messageOf(error)}`);
    });
  }
}

async function makeWritable(folder: string): Promise<void> {
  if (!(await lstat(folder)).isDirectory()) return;
  await chmod(folder, 0o700);
  for (const name of await readdir(folder)) await makeWritable(join(folder, name));
}
