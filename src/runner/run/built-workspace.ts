import { newReason } from "../../reason/reason.ts";
import type { RunnerUser } from "../sandbox/runner-user.ts";
import type { HeldTask } from "../server/held-task.ts";
import { copyCaches, cutHardLinks } from "../stage/detach-workspace.ts";
import { failed, type StageEnd } from "../stage/stage-script.ts";
import type { LinkedFolder } from "../workspace/cache-folders.ts";
import { changedSince, relaxManifest, writeManifest } from "../workspace/manifest.ts";
import type { Workspace } from "../workspace/workspace.ts";

export interface BuiltParts {
  workspace: Workspace;
  user: RunnerUser | null;
  held: Pick<HeldTask, "stopped">;
  /** The folders that are links to caches. */
  linked(): LinkedFolder[];
  writeLine(text: string): void;
}

/** Before deploy and start, which use no cache: the folders that the build had in one become copies. */
export async function leaveCaches({ linked, user, held, writeLine }: BuiltParts): Promise<void> {
  const links = linked();
  if (links.length === 0 || held.stopped.aborted) return;
  await copyCaches(links, user, held.stopped);
  writeLine(
    `[copied from the cache, which deploy and start do not use: ${links.map(({ path }) => path).join(", ")}]`,
  );
}

/** A workspace that waits for an approval shares no file with anything else, and what it contains is recorded. */
export async function sealBuilt(parts: BuiltParts): Promise<void> {
  const { workspace, user, held } = parts;
  await leaveCaches(parts);
  await cutHardLinks(workspace.source, user, held.stopped);
  await writeManifest(workspace.folder);
}

/** Files of a workspace whose deploy needed an approval that are not as the build and its own scripts left them; empty: none. */
export async function foreignChanges({ folder, isSealed }: Workspace): Promise<string> {
  return isSealed ? (await changedSince(folder)).join(", ") : "";
}

/** Before an approved deploy: the failure if its workspace is not what the build has left. */
export async function verifyBuilt(workspace: Workspace): Promise<StageEnd | null> {
  const files = await foreignChanges(workspace);
  return files === "" ? null : failed(newReason("workspace_changed", { files }));
}

/** After scripts of deploy and start have run in it: what they have changed is no foreign change in a later rollback. */
export async function acceptOwnChanges({ folder, isSealed }: Workspace): Promise<void> {
  if (isSealed) await relaxManifest(folder);
}
