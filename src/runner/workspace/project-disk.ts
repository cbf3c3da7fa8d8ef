import { statfs } from "node:fs/promises";
import { type DiskUse, megabytes, smallerLimit } from "../../model/service/disk-use.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { diskUseOf } from "./disk-use.ts";
import type { Workspace, Workspaces } from "./workspace.ts";

/** Nobody waits for these measurements, except a deploy with a limit. */
const patienceMs = 60_000;

export interface NewRelease {
  projectId: number;
  workspace: Pick<Workspace, "folder" | "beside">;
  /** How many releases stay, this one included, and which tasks wait for an approval. */
  keep: number;
  waitingTasks: readonly number[];
  /** The project's own limit. */
  limitBytes: number | null;
}

/** `exceeded`: why the release must not be deployed. `unknown`: its size could not be measured. */
export type SizeCheck = { result: "fits" | "unknown" } | { result: "exceeded"; reason: Reason };

/** What one transfer may add to the disk, and why not more. */
export interface Room {
  bytes: number;
  reason: Reason;
}

/** Stays free of what other runners send: a part of the disk, but no more than a gigabyte. */
const reserveOf = (diskBytes: number) => Math.min(diskBytes / 20, 1e9);

/** What releases and data of projects take on this disk; `quotaBytes`: most that one project may take, null: no limit. */
export function openProjectDisk(
  workspaces: Pick<Workspaces, "root" | "foldersOf" | "dataOf">,
  quotaBytes: number | null,
) {
  const wanted = new Set<number>();
  const unsent = new Map<number, DiskUse>();
  let isMeasuring = false;

  async function measureOne(projectId: number): Promise<void> {
    const releasesBytes = await diskUseOf(workspaces.foldersOf(projectId), patienceMs);
    const dataBytes = await diskUseOf([workspaces.dataOf(projectId)], patienceMs);
    if (releasesBytes === null || dataBytes === null) return;
    unsent.set(projectId, { releasesBytes, dataBytes, quotaBytes });
  }

  const settingOf = (limit: number, limitBytes: number | null) =>
    limit === limitBytes ? "limits.diskMb" : "runner.projectQuota";

  return {
    /** For what another runner sends. `limitBytes`: the project's own limit. */
    async room(limitBytes: number | null): Promise<Room> {
      const folder = workspaces.root;
      const { bsize, blocks, bavail } = await statfs(folder);
      const free = Math.max(0, bavail * bsize - reserveOf(blocks * bsize));
      const limit = smallerLimit(limitBytes, quotaBytes);
      if (limit === null || limit >= free)
        return { bytes: free, reason: newReason("transfer_disk_full", { folder }) };
      const setting = settingOf(limit, limitBytes);
      return {
        bytes: limit,
        reason: newReason("transfer_too_large", { limit: megabytes(limit), setting }),
      };
    },
    /** Measures these projects, one after the other, in the background. */
    async measure(projectIds: Iterable<number>): Promise<void> {
      for (const id of projectIds) wanted.add(id);
      if (isMeasuring) return;
      isMeasuring = true;
      for (const id of wanted) {
        wanted.delete(id);
        await measureOne(id);
      }
      isMeasuring = false;
    },
    /** Measurements that the server does not have yet, at most so many. */
    unsent(most: number): { projectId: number; use: DiskUse }[] {
      return [...unsent].slice(0, most).map(([projectId, use]) => ({ projectId, use }));
    },
    /** The server has them. One that was repeated meanwhile is still to be sent. */
    sent(measured: readonly { projectId: number; use: DiskUse }[]): void {
      for (const { projectId, use } of measured) if (unsent.get(projectId) === use) unsent.delete(projectId);
    },
    /** Whether a new release fits beside those that stay and the data. Nothing is measured without a limit. */
    async check({ projectId, workspace, keep, waitingTasks, limitBytes }: NewRelease): Promise<SizeCheck> {
      const limit = smallerLimit(limitBytes, quotaBytes);
      if (limit === null) return { result: "fits" };
      const release = await diskUseOf([workspace.folder], patienceMs);
      const releases = await diskUseOf(workspace.beside(keep, waitingTasks), patienceMs);
      const data = await diskUseOf([workspaces.dataOf(projectId)], patienceMs);
      if (release === null || releases === null || data === null) return { result: "unknown" };
      const total = release + releases + data;
      if (total <= limit) return { result: "fits" };
      const reason = newReason("disk_full", {
        ...{ release: megabytes(release), releases: megabytes(releases), data: megabytes(data) },
        ...{ total: megabytes(total), limit: megabytes(limit) },
        setting: settingOf(limit, limitBytes),
      });
      return { result: "exceeded", reason };
    },
  };
}
export type ProjectDisk = ReturnType<typeof openProjectDisk>;
