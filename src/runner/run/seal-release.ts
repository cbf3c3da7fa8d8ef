import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import type { RunTask } from "../protocol.ts";
import type { RunnerUser } from "../sandbox/runner-user.ts";
import type { HeldTask } from "../server/held-task.ts";
import { copyCaches, copyInto } from "../stage/copy-folders.ts";
import type { LinkedFolder } from "../workspace/cache-folders.ts";
import { makeReleaseFolders, promotedFolders, type ReleaseFolder } from "../workspace/release-folders.ts";
import { treeDigest } from "../workspace/tree-digest.ts";
import type { Workspace, Workspaces } from "../workspace/workspace.ts";

export interface SealParts {
  workspace: Workspace;
  workspaces: Pick<Workspaces, "dataOf">;
  user: RunnerUser | null;
  held: Pick<HeldTask, "stopped">;
  /** The folders that are links to caches. */
  linked(): LinkedFolder[];
  writeLine(text: string): void;
}

const writableLine =
  "[deploy and start can write to this release, as in versions before 2.0. Name the folders that they write to as data or scratch, then seal the releases of the project]";

/**
 * Makes a release of what a build has left, before deploy, start and an approval. From now on it shares no file with anything
 * else: what later builds write to caches does not change it, and deploy and start can only read it, except the folders that
 * are returned. There are no hard links to files elsewhere, because the kernel makes none between the mounts of a sandbox.
 */
export async function sealRelease(
  { projectId, folders }: Pick<RunTask, "projectId" | "folders">,
  { workspace, workspaces, user, held, linked, writeLine }: SealParts,
): Promise<ReleaseFolder[]> {
  const { origin } = workspace;
  if (!workspace.isSealed && !held.stopped.aborted) {
    const links = linked();
    await copyCaches(links, user, held.stopped);
    if (links.length > 0)
      writeLine(
        `[copied from the cache into the release, so that later builds cannot change it: ${links.map(({ path }) => path).join(", ")}]`,
      );
    if (!folders.sealed) writeLine(writableLine);
  }
  const options = {
    ...{ source: workspace.source, owner: user, data: folders.data, scratch: folders.scratch },
    ...{ dataRoot: workspaces.dataOf(projectId), scratchRoot: workspace.scratch },
    copy: (from: string, to: string) => copyInto(from, to, user, held.stopped),
  };
  if (origin !== null)
    return promotedFolders(options, {
      ...options,
      dataRoot: workspaces.dataOf(origin.projectId),
      scratchRoot: join(origin.folder, "scratch"),
    });
  const made = await makeReleaseFolders(options);
  if (!workspace.isSealed)
    workspace.seal(folders.sealed ? await digestOf(workspace.source, held.stopped, writeLine) : null);
  return made;
}

/** Null: a file cannot be read, such as one that a container wrote as another user. The release serves all the same. */
async function digestOf(
  source: string,
  stop: AbortSignal,
  writeLine: SealParts["writeLine"],
): Promise<string | null> {
  const begun = performance.now();
  try {
    const { digest, files, bytes } = await treeDigest(source, stop);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    writeLine(`[sealed: ${files} files, ${(bytes / 1e6).toFixed(1)} MB, SHA-256 ${digest}, in ${seconds} s]`);
    return digest;
  } catch (error) {
    if (!stop.aborted) writeLine(`[sealed without a digest: ${messageOf(error)}]`);
    return null;
  }
}
