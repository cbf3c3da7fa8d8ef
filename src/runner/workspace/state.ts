import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../whole-file.ts";
import type { ProcessIdentity, ProcessTree } from "../process/process-tree.ts";
import { type FormerService, isFormerAlive } from "./former-services.ts";

/**
 * What a runner knows about a workspace, in one file of its folder; a later runner continues from it.
 *
 * - `building`: a task of `owner` runs in it. If the owner is dead, nothing claims it.
 * - `waiting`: built; its deploy waits for an approval until `until`.
 * - `kept`: a release, live since `keptAt`. A rollback may be running in it.
 * - `gone`: nothing claims it, but a service ran in it when its task ended.
 * - `serving`: of versions before 2.0; the same.
 */
export interface WorkspaceState {
  state: "building" | "waiting" | "kept" | "serving" | "gone";
  owner: ProcessIdentity;
  /** Processes that end when their runner is killed. */
  trees: ProcessTree[];
  /** Of versions before 2.0. */
  services?: FormerService[];
  until?: number;
  /** It is a release: it shares no file with anything else. Versions before 2.0 did not write this. */
  isRelease?: boolean;
  /** Of its files, when it was sealed: see tree-digest.ts. */
  digest?: string;
  keptAt?: number;
  /** Of a promoted release: the workspace that has its files, and the project that it was built for. */
  origin?: WorkspaceOrigin;
}

export interface WorkspaceOrigin {
  folder: string;
  projectId: number;
}

export const stateName = "state.json";
/** One block of a file system: a state of this size can be written in its place when the disk is full. */
const reservedBytes = 4096;

export function writeState(folder: string, state: WorkspaceState): void {
  const file = join(folder, stateName);
  const text = JSON.stringify(state).padEnd(reservedBytes);
  try {
    replaceFile(file, text);
  } catch (error) {
    // A full disk must not cost a release that already serves.
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (Buffer.byteLength(text) > size) throw error;
    writeFileSync(file, text.padEnd(size), { flag: "r+" });
  }
}

/** Errors that mean that there is no state; a file of another user is that of another runner. */
const missing = ["ENOENT", "ENOTDIR", "EACCES"];

/** Null: there is none. Any other error, such as too many open files, is thrown: a service that is forgotten is never ended. */
export function readState(folder: string): WorkspaceState | null {
  let text: string;
  try {
    text = readFileSync(join(folder, stateName), "utf8");
  } catch (error) {
    if (missing.includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
  try {
    return JSON.parse(text) as WorkspaceState;
  } catch {
    // A power loss may have emptied it.
    return null;
  }
}

export function formerServices(state: WorkspaceState | null): FormerService[] {
  return state?.services?.filter(isFormerAlive) ?? [];
}
