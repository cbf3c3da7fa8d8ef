import { chmodSync, existsSync, mkdirSync, statSync, utimesSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { ownFolderIn } from "../process/own-folder.ts";
import { endMarked, identityOf, isSameProcessAlive, type ProcessTree } from "../process/process-tree.ts";
import { foldersIn, workspacesIn } from "./folders.ts";
import { removeFolder } from "./remove-folder.ts";
import { isBuilt, prepareKept, type RunRecord, readRecord, writeKept, writeRecord } from "./run-record.ts";
import { openServices } from "./services.ts";
import type { Trust } from "./trust.ts";

/**
 * `live`: the workspace of a project's last successful task stays, because its service may run from there, and so does
 * that of a task whose service is alive. All others are removed with their task. `none`: all are removed.
 */
export type WorkspacePolicy = "live" | "none";

/** The folder of one attempt. */
export interface Workspace {
  /** Its folder, in which all others are. */
  folder: string;
  /** Whose code was checked out. */
  trust: Trust;
  /** The checked-out files. */
  source: string;
  /** Scripts and other files of the task outside the checkout. */
  scripts: string;
  /** Recorded, so that the next start can end the processes of a killed runner. */
  noteTree(tree: ProcessTree): void;
  /** It has ended, or may continue. */
  forgetTree(tree: ProcessTree): void;
  /**
   * The task is over. Keeps the folder and the `keep` - 1 kept last before it, or removes it. A folder that an earlier
   * task has kept stays in any case. A folder whose service is alive stays until a later success or start of a runner.
   */
  close(end: WorkspaceEnd): Promise<void>;
}

export interface WorkspaceEnd {
  isKept: boolean;
  keep: number;
  /** The folder stays until this time (milliseconds) for a deploy that waits for an approval. It is no release yet. */
  builtUntil?: number;
  /** Tasks whose built folders stay. */
  waitingTasks?: readonly number[];
}

/** The kept workspace of a release. */
export interface KeptWorkspace {
  taskId: number;
  folder: string;
}

/** Of one project. A built workspace that was removed is built again, and its approval is requested again. */
const maxBuilt = 10;
/**
 * A start of the runner keeps a built workspace for this long after its time for the approval. It cannot ask the server: the
 * deploy may have been approved while the runner was off, and the clock of this machine may be wrong. Later tasks of the
 * project remove those that nobody waits for; this limit is for projects without later tasks.
 */
const builtUnusedMs = 30 * 24 * 3_600_000;
/** A clone that no task used for this long is removed; the next task clones again. */
const cacheUnusedMs = 90 * 24 * 3_600_000;

export interface WorkspaceFolders {
  /** Clones, workspaces and caches. */
  root: string;
  /** Where they were before, by an earlier version or another setting; null: the same folder. */
  former: string | null;
  knownHosts: string;
}

export interface WorkspacesOptions extends WorkspaceFolders {
  policy: WorkspacePolicy;
  /** Runs the scripts instead of the runner's own user, and cannot enter workspaces in `former`. */
  hasScriptUser?: boolean;
  clock: Clock;
  log: Logger;
  /** Removes a folder with its contents. */
  remove?: typeof rm;
}

/** The folders of a runner: `cache/` (clones by project), `work/` (workspaces), `tmp/`. */
export function openWorkspaces(options: WorkspacesOptions) {
  const { root, former, policy, hasScriptUser = false, clock, log, remove = rm } = options;
  const caches = join(root, "cache");
  const work = join(root, "work");
  const temp = ownFolderIn(join(root, "tmp"));
  for (const folder of [work, temp, caches, dirname(options.knownHosts)])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  const roots = former === null ? [root] : [root, former];
  /** Whose kept and built workspaces scripts can run in. */
  const usable = hasScriptUser ? [root] : roots;
  const owner = identityOf(process.pid);

  /**
   * A folder that cannot be removed, for example with files that a container wrote as root, must not stop the runner.
   */
  async function tryToRemove(folder: string): Promise<boolean> {
    try {
      await removeFolder(folder, remove);
      return true;
    } catch (error) {
      log.error({ folder }, messageOf(error));
      return false;
    }
  }

  /** Keeps the folder while a service of its task is alive: the service of a lost task may be the only service. */
  async function removeUnused(folder: string): Promise<boolean> {
    try {
      if (!isServed(folder)) return tryToRemove(folder);
      log.info({ folder }, "a workspace stays, because a service of its task is alive");
    } catch (error) {
      log.error({ folder, error: messageOf(error) }, "a workspace stays, because its services are not known");
    }
    return false;
  }

  function isServed(folder: string): boolean {
    const taskId = taskIdOf(folder);
    const living = policy === "none" ? [] : servicesOf(projectIdOf(folder)).living();
    return living.some((service) => service.taskId === taskId);
  }

  async function endOrphans(record: RunRecord | null, stopGraceMs: number): Promise<void> {
    for (const tree of record?.trees ?? []) {
      try {
        const survivors = await endMarked(tree, stopGraceMs);
        if (survivors.length > 0)
          log.error({ pids: survivors }, "processes of a killed runner could not be ended; end them by hand");
      } catch (error) {
        log.error({ error: messageOf(error) }, "a container of a killed runner could not be removed");
      }
    }
  }

  /** The record of a release that becomes live now: later than all others, also if the clock was set back. */
  function keptNow(projectId: number, trust: Trust | undefined): RunRecord {
    const keptAt = Math.max(clock.now(), (keptOf(projectId)[0]?.keptAt ?? 0) + 1);
    return { owner, trees: [], isKept: true, keptAt, trust };
  }

  /** A disk that is full already must not prevent a rollback. */
  function tryToPrepareKept(projectId: number, folder: string, trust: Trust | undefined): void {
    try {
      prepareKept(folder, keptNow(projectId, trust));
    } catch (error) {
      log.warn({ folder, error: messageOf(error) }, "the record of a success could not be prepared");
    }
  }

  const ofProject = (projectId: number, at = root) => join(at, "work", `project-${projectId}`);
  const workspacesOf = (projectId: number, at: string[]) =>
    at
      .map((each) => ofProject(projectId, each))
      .flatMap((folder) => foldersIn(folder).map((name) => join(folder, name)));
  const servicesOf = (projectId: number) => {
    const fileIn = (each: string) => join(ofProject(projectId, each), "services.json");
    return openServices(fileIn(root), former === null ? null : fileIn(former));
  };

  /** Newest first. */
  function keptOf(projectId: number): { folder: string; keptAt: number }[] {
    return workspacesOf(projectId, usable)
      .flatMap((folder) => {
        const record = readRecord(folder);
        return record?.isKept ? [{ folder, keptAt: record.keptAt ?? 0 }] : [];
      })
      .toSorted((a, b) => b.keptAt - a.keptAt);
  }

  /** Folders whose deploy still waits for an approval, as the server says: the clock of this machine may be wrong. */
  function builtOf(projectId: number, waitingTasks: readonly number[] = []): string[] {
    return workspacesOf(projectId, usable)
      .filter((folder) => waitingTasks.includes(taskIdOf(folder)))
      .flatMap((folder) => {
        const until = readRecord(folder)?.builtUntil;
        return until === undefined ? [] : [{ folder, until }];
      })
      .toSorted((a, b) => b.until - a.until)
      .slice(0, maxBuilt)
      .map(({ folder }) => folder);
  }

  /** Answers those that nobody waits for any more. */
  function formerlyBuiltOf(projectId: number, waiting: readonly string[]): string[] {
    return workspacesOf(projectId, usable).filter(
      (folder) => !waiting.includes(folder) && isBuilt(readRecord(folder)),
    );
  }

  function workspaceAt(projectId: number, folder: string, record: RunRecord): Workspace {
    return {
      folder,
      trust: record.trust ?? "other",
      source: join(folder, "source"),
      scripts: join(folder, "scripts"),
      noteTree(tree) {
        record.trees.push(tree);
        writeRecord(folder, record);
      },
      forgetTree({ mark }) {
        record.trees = record.trees.filter((tree) => tree.mark !== mark);
        try {
          writeRecord(folder, record);
        } catch (error) {
          // A script may have removed the folder, or filled the disk: a success does not become a failure for that.
          log.warn({ folder, error: messageOf(error) }, "what a task runs could not be written down");
        }
      },
      async close({ isKept, keep, builtUntil, waitingTasks }) {
        const built = builtOf(projectId, waitingTasks);
        if (builtUntil !== undefined) {
          writeRecord(folder, { owner, trees: [], isKept: false, builtUntil, trust: record.trust });
          // Nobody but the runner enters it until it is deployed.
          chmodSync(folder, 0o700);
          for (const former of formerlyBuiltOf(projectId, [folder, ...built])) await removeUnused(former);
          return;
        }
        if (!isKept || policy === "none") {
          if (!record.isKept) await removeUnused(folder);
          return;
        }
        writeKept(folder, keptNow(projectId, record.trust));
        const kept = keptOf(projectId).slice(0, keep);
        // The prepared record may name an earlier time than the releases that became live since.
        const stay = [folder, ...built, ...kept.map((release) => release.folder)];
        for (const each of workspacesOf(projectId, roots)) if (!stay.includes(each)) await removeUnused(each);
      },
    };
  }

  /** Such as those of deleted projects. */
  async function sweepCaches(root: string): Promise<number> {
    let swept = 0;
    for (const name of foldersIn(join(root, "cache"))) {
      const cache = join(root, "cache", name);
      // A runner of another version may be finishing its tasks in the same folder.
      const usedAt = statSync(cache, { throwIfNoEntry: false })?.mtimeMs ?? clock.now();
      const isUsed = clock.now() - usedAt < cacheUnusedMs;
      if (!isUsed && (await tryToRemove(cache))) swept += 1;
    }
    return swept;
  }

  return {
    root,
    temp,
    knownHosts: options.knownHosts,
    /** The clone of a project, for a task that uses it now. */
    cacheOf(projectId: number): string {
      const cache = join(caches, `project-${projectId}.git`);
      const now = new Date(clock.now());
      if (existsSync(cache)) utimesSync(cache, now, now);
      return cache;
    },
    async open(
      projectId: number,
      taskId: number,
      attempt: number,
      trust: Trust = "other",
    ): Promise<Workspace> {
      const folder = join(ofProject(projectId), `task-${taskId}-${attempt}`);
      await removeFolder(folder, remove);
      mkdirSync(join(folder, "scripts"), { recursive: true, mode: 0o700 });
      const record: RunRecord = { owner, trees: [], isKept: false, trust };
      writeRecord(folder, record);
      prepareKept(folder, keptNow(projectId, trust));
      return workspaceAt(projectId, folder, record);
    },
    /**
     * The workspace that an earlier task has kept or built; null: it no longer exists. Whether an approval came in time is
     * decided by the server, not by the clock of this machine.
     */
    reopen(projectId: number, taskId: number, attempt: number): Workspace | null {
      for (const each of usable) {
        const folder = join(ofProject(projectId, each), `task-${taskId}-${attempt}`);
        const record = readRecord(folder);
        const isThere = record?.isKept || record?.builtUntil !== undefined;
        if (record && isThere && existsSync(join(folder, "source"))) {
          tryToPrepareKept(projectId, folder, record.trust);
          return workspaceAt(projectId, folder, { ...record, owner, trees: [] });
        }
      }
      return null;
    },
    kept(projectId: number): KeptWorkspace[] {
      return keptOf(projectId).flatMap(({ folder }) => {
        const taskId = taskIdOf(folder);
        return Number.isInteger(taskId) ? [{ taskId, folder }] : [];
      });
    },
    services: servicesOf,
    /**
     * Ends processes and removes folders of dead runners, and clones that were not used for a long time; returns the
     * number of folders. Failures are logged.
     */
    async sweep(stopGraceMs: number): Promise<number> {
      let swept = 0;
      for (const root of roots) {
        swept += await sweepCaches(root);
        for (const folder of workspacesIn(root)) {
          const record = readRecord(folder);
          const isAwaited = (record?.builtUntil ?? -Infinity) + builtUnusedMs > clock.now();
          const isIdle = (record?.isKept || isAwaited) && !record?.trees?.length;
          if (isIdle || (record && isSameProcessAlive(record.owner))) continue;
          await endOrphans(record, stopGraceMs);
          if (!record?.isKept && (await removeUnused(folder))) swept += 1;
        }
      }
      return swept;
    },
  };
}
export type Workspaces = ReturnType<typeof openWorkspaces>;

/** NaN: not the folder of a task. */
function taskIdOf(folder: string): number {
  return Number(/^task-(\d+)-\d+$/.exec(basename(folder))?.[1]);
}

/** NaN: not in the folder of a project. */
function projectIdOf(folder: string): number {
  return Number(/^project-(\d+)$/.exec(basename(dirname(folder)))?.[1]);
}
