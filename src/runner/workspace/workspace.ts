import { chmodSync, existsSync, mkdirSync, renameSync, utimesSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { randomToken } from "../../secrets.ts";
import { endRecorded, identityOf, isSameProcessAlive, type ProcessTree } from "../process/process-tree.ts";
import {
  attemptOf,
  dataFolderOf,
  moveFolder,
  taskIdOf,
  workspacesIn,
  workspacesOfProject,
} from "./folders.ts";
import { type FormerServices, openFormerServices } from "./former-services.ts";
import { ownFolderIn } from "./own-folder.ts";
import { removeFolder } from "./remove-folder.ts";
import { formerServices, readState, type WorkspaceOrigin, type WorkspaceState, writeState } from "./state.ts";
import { sweepClones } from "./sweep-clones.ts";
import { giveTo, type Owner } from "./workspace-owner.ts";

/** Which workspaces stay after their task: `live` keeps releases and those whose service is alive, `none` keeps none. */
export type WorkspacePolicy = "live" | "none";

/** The folder of one attempt. */
export interface Workspace {
  /** Its folder, in which all others are. */
  folder: string;
  /** The checked-out files. */
  source: string;
  /** Scripts and other files of the task outside the checkout. */
  scripts: string;
  /** Folders that are empty at the start of a release. */
  scratch: string;
  /** Of a promoted release: the workspace that has its files. Null: it has its own. */
  origin: WorkspaceOrigin | null;
  /** It shares no file with anything else. */
  isSealed: boolean;
  /** Whether it is the workspace of a release, and not one that waits. */
  isRelease: boolean;
  /** With the digest of its files; null: they may change. */
  seal(digest: string | null): void;
  /** The other workspaces that stay when this one becomes the newest of `keep` releases. */
  beside(keep: number, waitingTasks: readonly number[]): string[];
  /** Recorded, so that the next start can end the processes of a killed runner. */
  noteTree(tree: ProcessTree): void;
  /** It has ended, or may continue. */
  forgetTree(tree: ProcessTree): void;
  /** The task is over. The folder that an earlier task has kept stays in any case. */
  close(end: WorkspaceEnd): Promise<void>;
}

/** What becomes of a workspace: it waits for an approval, is the newest of `keep` releases, or nothing claims it. */
export type WorkspaceEnd = (
  | { state: "waiting"; until: number }
  | { state: "kept"; keep: number }
  | { state: "gone" }
) & {
  /** Tasks whose waiting workspaces stay. */
  waitingTasks?: readonly number[];
};

/** A release on its way into this runner. */
export interface IncomingRelease {
  /** Beside its place. */
  workspace: Workspace;
  /** Empties it. */
  begin(): Promise<void>;
  /** It is complete: it goes to its place, and is on disk. Throws if it cannot. */
  place(digest: string | null): Promise<Workspace>;
}

/** The kept workspace of a release. */
export interface KeptWorkspace {
  taskId: number;
  folder: string;
  /** The checked-out files. */
  source: string;
  /** Of its files, when it was sealed; null: not known. */
  digest: string | null;
}

/** Of one project. A waiting workspace that was removed is built again, and its approval is requested again. */
const maxWaiting = 10;
/**
 * A start of the runner keeps a waiting workspace for this long after its time for the approval. It cannot ask the server: the
 * deploy may have been approved while the runner was off, and the clock of this machine may be wrong. Later tasks of the
 * project remove those that nobody waits for; this limit is for projects without later tasks.
 */
const waitingUnusedMs = 30 * 24 * 3_600_000;
/** After a move, the earlier runner removes a release when its last service has ended: it checks this often, and this many times. */
const leaveEveryMs = 2_000;
const leaveTries = 1_000;
export interface WorkspaceFolders {
  /** Clones, workspaces and caches. */
  root: string;
  /** Where they were before, with another setting; null: the same folder. */
  former: string | null;
  knownHosts: string;
}

export interface WorkspacesOptions extends WorkspaceFolders {
  policy: WorkspacePolicy;
  /** Runs the scripts instead of the runner's own user, and cannot enter workspaces in `former`; null: none. */
  owner?: Owner | null;
  /** Whether a service runs in the folder of a workspace. */
  isUsed(folder: string): boolean;
  clock: Clock;
  log: Logger;
  /** Removes a folder with its contents. */
  remove?: typeof rm;
}

/** The folders of a runner: `cache/` (clones by project), `releases/` (workspaces), `data/` (of projects), `tmp/`. */
export function openWorkspaces(options: WorkspacesOptions) {
  const { root, former, policy, owner: scriptsOwner = null, isUsed, clock, log, remove = rm } = options;
  const caches = join(root, "cache");
  const releases = join(root, "releases");
  const temp = ownFolderIn(join(root, "tmp"));
  for (const folder of [releases, temp, caches, dirname(options.knownHosts)])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  const roots = former === null ? [root] : [root, former];
  const owner = identityOf(process.pid);

  const folderOf = (projectId: number, taskId: number, attempt: number) =>
    join(root, "releases", String(projectId), attempt === 1 ? String(taskId) : `${taskId}-${attempt}`);
  const workspacesOf = (projectId: number, at: string[]) =>
    at.flatMap((each) => workspacesOfProject(each, projectId));

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

  /** Makes a workspace of an earlier version or setting one that scripts can run in; returns its folder. */
  async function adopt(found: string, folder: string): Promise<string> {
    if (scriptsOwner === null) return found;
    if (found !== folder) {
      mkdirSync(dirname(folder), { recursive: true, mode: 0o711 });
      await moveFolder(found, folder);
    }
    const source = join(folder, "source");
    // A promoted release has its files elsewhere.
    if (existsSync(source)) await giveTo(scriptsOwner, source);
    return folder;
  }

  /** Whether a promoted release has its files there. */
  function isOrigin(folder: string): boolean {
    return roots.flatMap(workspacesIn).some((each) => stateIfKnown(each)?.origin?.folder === folder);
  }

  /** Nothing claims the workspace: it is removed, unless a service runs in it, or another environment has its release. A later task of the project tries again. */
  async function discard(folder: string): Promise<boolean> {
    try {
      const state = readState(folder);
      const isFree = !isUsed(folder) && formerServices(state).length === 0 && !isOrigin(folder);
      if (isFree) {
        const isGone = await tryToRemove(folder);
        // Its files may have been there for it alone.
        const origin = state?.origin?.folder;
        if (isGone && origin !== undefined && stateIfKnown(origin)?.state === "gone") await discard(origin);
        return isGone;
      }
      log.info({ folder }, "a workspace stays, because it is in use");
    } catch (error) {
      log.error({ folder, error: messageOf(error) }, "a workspace stays, because its state is not known");
    }
    return false;
  }

  /** Removes a release when no service runs in it: services answer until their drain ends. After the last try, the next start of the runner removes it. */
  async function discardUnused(folder: string, tries: number): Promise<void> {
    if (stateIfKnown(folder)?.state !== "gone") return;
    if (!isUsed(folder)) return void (await discard(folder));
    if (tries < leaveTries) setTimeout(() => void discardUnused(folder, tries + 1), leaveEveryMs).unref();
  }

  async function endOrphans({ trees }: WorkspaceState, stopGraceMs: number): Promise<void> {
    for (const tree of trees) {
      try {
        const survivors = await endRecorded(tree, stopGraceMs);
        if (survivors.length > 0)
          log.error({ pids: survivors }, "processes of a killed runner could not be ended; end them by hand");
      } catch (error) {
        log.error({ error: messageOf(error) }, "a container of a killed runner could not be removed");
      }
    }
  }

  /** Newest first. A workspace whose state cannot be read is left out, and stays. */
  function inState(projectId: number, wanted: WorkspaceState["state"]): (KeptWorkspace & { at: number })[] {
    return workspacesOf(projectId, roots)
      .flatMap((folder) => {
        const { state = null, keptAt = 0, until = 0, digest = null, origin } = stateIfKnown(folder) ?? {};
        const at = wanted === "kept" ? keptAt : until;
        const source = join(origin?.folder ?? folder, "source");
        return state === wanted ? [{ taskId: taskIdOf(folder), folder, source, digest, at }] : [];
      })
      .toSorted((a, b) => b.at - a.at);
  }

  /** Folders whose deploy still waits for an approval, as the server says: the clock of this machine may be wrong. */
  function waitingOf(projectId: number, waitingTasks: readonly number[] = []): string[] {
    const awaited = inState(projectId, "waiting").filter(({ taskId }) => waitingTasks.includes(taskId));
    return awaited.slice(0, maxWaiting).map(({ folder }) => folder);
  }

  /** What stays when this folder becomes the newest of `keep` releases, without the folder itself. */
  function beside(projectId: number, folder: string, keep: number, waiting: string[]): string[] {
    if (policy === "none") return waiting;
    const others = inState(projectId, "kept").map((release) => release.folder);
    return [...waiting, ...others.filter((each) => each !== folder).slice(0, keep - 1)];
  }

  function workspaceAt(projectId: number, folder: string, state: WorkspaceState): Workspace {
    const change = (changes: Partial<WorkspaceState>) => {
      Object.assign(state, changes);
      writeState(folder, state);
    };
    return {
      folder,
      source: join(state.origin?.folder ?? folder, "source"),
      origin: state.origin ?? null,
      scripts: join(folder, "scripts"),
      scratch: join(folder, "scratch"),
      get isSealed() {
        return state.isRelease === true;
      },
      isRelease: state.state === "kept",
      seal: (digest) => change({ isRelease: true, ...(digest === null ? {} : { digest }) }),
      beside: (keep, waitingTasks) => beside(projectId, folder, keep, waitingOf(projectId, waitingTasks)),
      noteTree: (tree) => change({ trees: [...state.trees, tree] }),
      forgetTree({ leader }) {
        try {
          change({ trees: state.trees.filter((tree) => tree.leader !== leader) });
        } catch (error) {
          // A script may have removed the folder, or filled the disk: a success does not become a failure for that.
          log.warn({ folder, error: messageOf(error) }, "what a task runs could not be written down");
        }
      },
      async close(end) {
        const waiting = waitingOf(projectId, end.waitingTasks);
        if (end.state === "waiting") {
          change({ state: "waiting", until: end.until, trees: [] });
          // Nobody but the runner enters it until it is deployed.
          chmodSync(folder, 0o700);
          for (const each of inState(projectId, "waiting"))
            if (![folder, ...waiting].includes(each.folder)) await discard(each.folder);
        } else if (end.state === "kept" && policy === "live") {
          const releases = inState(projectId, "kept");
          // Later than all others, also if the clock was set back.
          change({ state: "kept", keptAt: Math.max(clock.now(), (releases[0]?.at ?? 0) + 1), trees: [] });
          const stay = [folder, ...beside(projectId, folder, end.keep, waiting)];
          for (const each of workspacesOf(projectId, roots)) if (!stay.includes(each)) await discard(each);
        } else {
          // A service may run in it, which a later task of the project has replaced.
          if (state.state !== "kept" && !(await discard(folder))) change({ state: "gone", trees: [] });
          for (const each of inState(projectId, "gone"))
            if (each.folder !== folder) await discard(each.folder);
        }
      },
    };
  }

  /** Whether it was removed, because its runner was killed or its time is over. */
  async function sweepWorkspace(folder: string, stopGraceMs: number): Promise<boolean> {
    const state = readState(folder);
    if (state === null) return discard(folder);
    const isIdle = state.trees.length === 0;
    if (state.state === "kept" && isIdle) return false;
    if (state.state === "waiting" && isIdle && (state.until ?? 0) + waitingUnusedMs > clock.now())
      return false;
    if (isSameProcessAlive(state.owner)) return false;
    await endOrphans(state, stopGraceMs);
    return state.state === "kept" ? false : discard(folder);
  }

  return {
    root,
    temp,
    knownHosts: options.knownHosts,
    /** The data of a project, which survives its releases. */
    dataOf: (projectId: number) => dataFolderOf(root, projectId),
    /** All workspaces of a project. */
    foldersOf: (projectId: number) => workspacesOf(projectId, roots),
    /** The clone of a project, for a task that uses it now. */
    cacheOf(projectId: number): string {
      const cache = join(caches, `project-${projectId}.git`);
      const now = new Date(clock.now());
      if (existsSync(cache)) utimesSync(cache, now, now);
      return cache;
    },
    async open(projectId: number, taskId: number, attempt: number): Promise<Workspace> {
      const folder = folderOf(projectId, taskId, attempt);
      await removeFolder(folder, remove);
      mkdirSync(join(folder, "scripts"), { recursive: true, mode: 0o700 });
      const state: WorkspaceState = { state: "building", owner, trees: [] };
      writeState(folder, state);
      return workspaceAt(projectId, folder, state);
    },
    /**
     * The workspace of an earlier task that is kept or waits, or has the files of another environment's release; null: it no longer
     * exists. Whether an approval came in time is decided by the server, not by the clock of this machine.
     */
    async reopen(projectId: number, taskId: number, attempt: number): Promise<Workspace | null> {
      const isWanted = (folder: string) => taskIdOf(folder) === taskId && attemptOf(folder) === attempt;
      for (const found of workspacesOf(projectId, roots).filter(isWanted)) {
        const state = readState(found);
        if (state === null) continue;
        const isUnclaimed = state.state === "gone" && isOrigin(found);
        // What waits since a version before 2.0 may have been changed by other scripts: it is built and approved again.
        if (state.state !== "kept" && !(state.isRelease && (state.state === "waiting" || isUnclaimed)))
          continue;
        if (!existsSync(join(state.origin?.folder ?? found, "source"))) continue;
        const folder = await adopt(found, folderOf(projectId, taskId, attempt));
        const reopened: WorkspaceState = { ...state, owner, trees: [] };
        // The task claims it now.
        if (isUnclaimed) writeState(folder, Object.assign(reopened, { state: "building" }));
        return workspaceAt(projectId, folder, reopened);
      }
      return null;
    },
    /** A workspace with the files of another environment's release, which stay where they are; it shares nothing else with it. */
    async promote(projectId: number, taskId: number, attempt: number, from: Workspace, ofProject: number) {
      const folder = folderOf(projectId, taskId, attempt);
      await removeFolder(folder, remove);
      mkdirSync(join(folder, "scripts"), { recursive: true, mode: 0o700 });
      const origin = from.origin ?? { folder: from.folder, projectId: ofProject };
      // Fetched for this release alone, it goes with the last one that has its files.
      const fetched = readState(origin.folder);
      if (fetched?.state === "building") writeState(origin.folder, { ...fetched, state: "gone" });
      const state: WorkspaceState = { state: "building", owner, trees: [], isRelease: true, origin };
      writeState(folder, state);
      return workspaceAt(projectId, folder, state);
    },
    /**
     * A place for a release that comes from elsewhere, beside its own. Nothing claims it until `place` has moved it there, so that
     * the next start removes what a killed runner has left.
     */
    async receive(projectId: number, taskId: number, attempt: number): Promise<IncomingRelease> {
      const final = folderOf(projectId, taskId, attempt);
      const folder = join(dirname(final), `.fetch-${randomToken(6, "hex")}`);
      const state: WorkspaceState = { state: "building", owner, trees: [] };
      const begin = async () => {
        await removeFolder(folder, remove);
        mkdirSync(join(folder, "scripts"), { recursive: true, mode: 0o700 });
        mkdirSync(join(folder, "source"));
        writeState(folder, state);
      };
      await begin();
      return {
        workspace: workspaceAt(projectId, folder, state),
        begin,
        async place(digest) {
          if (scriptsOwner !== null) await giveTo(scriptsOwner, join(folder, "source"));
          const placed = { ...state, isRelease: true, ...(digest === null ? {} : { digest }) };
          writeState(folder, placed);
          const there = stateIfKnown(final);
          const isClaimed = there?.state === "building" || isOrigin(final);
          // Another environment has got the same files meanwhile.
          if (there !== null && isClaimed && digest !== null && there.digest === digest) {
            await removeFolder(folder, remove);
            return workspaceAt(projectId, final, there);
          }
          if (isClaimed || isUsed(final)) throw new Error(`${final} is in use`);
          await removeFolder(final, remove);
          const synced = Bun.spawn(["sync", "--file-system", folder], {
            stdio: ["ignore", "ignore", "pipe"],
          });
          if ((await synced.exited) !== 0) throw new Error(await new Response(synced.stderr).text());
          renameSync(folder, final);
          return workspaceAt(projectId, final, placed);
        },
      };
    },
    /** Another runner serves the project now: its releases are removed, except files that another environment still serves. */
    async leave(projectId: number): Promise<void> {
      for (const folder of workspacesOf(projectId, roots)) {
        const state = stateIfKnown(folder);
        if (state?.state !== "kept" && state?.state !== "gone") continue;
        writeState(folder, { ...state, state: "gone" });
        await discardUnused(folder, 0);
      }
    },
    /** Newest first. */
    kept: (projectId: number): KeptWorkspace[] => inState(projectId, "kept"),
    /** What cannot be read now is found by the next deploy. */
    former: (projectId: number, graceMs: number): FormerServices =>
      openFormerServices(
        () => workspacesOf(projectId, roots).flatMap((folder) => formerServices(stateIfKnown(folder))),
        graceMs,
      ),
    /**
     * Ends processes and removes folders of dead runners, and clones that were not used for a long time; returns the
     * number of folders. Failures are logged.
     */
    async sweep(stopGraceMs: number): Promise<number> {
      let swept = 0;
      for (const root of roots) {
        swept += await sweepClones(root, clock.now(), tryToRemove);
        for (const folder of workspacesIn(root)) {
          const isSwept = await sweepWorkspace(folder, stopGraceMs).catch((error: unknown) => {
            log.error(
              { folder, error: messageOf(error) },
              "a workspace stays, because its state is not known",
            );
            return false;
          });
          if (isSwept) swept += 1;
        }
      }
      return swept;
    },
  };
}
export type Workspaces = ReturnType<typeof openWorkspaces>;

function stateIfKnown(folder: string): WorkspaceState | null {
  try {
    return readState(folder);
  } catch {
    return null;
  }
}
