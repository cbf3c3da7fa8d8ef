import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeFolder } from "./remove-folder.ts";

/** Folders of a stage outside of the checkout. Its steps share them; the next stage has new ones. */
export interface StageFolders {
  home: string;
  temporary: string;
}

/** Makes the folders of the stages in the folder of a task, each when its first step begins. */
export function openStageFolders(workspace: string, owner: { uid: number; gid: number } | null) {
  const made = new Map<string, StageFolders>();
  const folderOf = (stage: string) => join(workspace, "stages", stage);

  async function make(stage: string): Promise<StageFolders> {
    const folder = folderOf(stage);
    // What an earlier run of the stage has left, such as that of a release that comes back.
    await removeFolder(folder);
    mkdirSync(folder, { recursive: true });
    for (const path of [join(workspace, "stages"), folder]) chmodSync(path, 0o711);
    const folders = { home: join(folder, "home"), temporary: join(folder, "tmp") };
    for (const path of Object.values(folders)) {
      mkdirSync(path, { mode: 0o700 });
      if (owner !== null) chownSync(path, owner.uid, owner.gid);
    }
    made.set(stage, folders);
    return folders;
  }

  return {
    async of(stage: string): Promise<StageFolders> {
      return made.get(stage) ?? (await make(stage));
    },
    /** After the task. Those of `start` stay: its services use them. */
    async remove(): Promise<void> {
      for (const stage of made.keys()) if (stage !== "start") await removeFolder(folderOf(stage));
    },
  };
}
export type StageFoldersOfTask = ReturnType<typeof openStageFolders>;
