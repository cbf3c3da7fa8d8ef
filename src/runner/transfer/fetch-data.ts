import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { randomToken } from "../../secrets.ts";
import { removeFolder } from "../workspace/remove-folder.ts";

/** Data that comes from another runner: beside its place first. */
export function openIncomingData(folder: string) {
  const parent = dirname(folder);
  const token = randomToken(6, "hex");
  const fresh = join(parent, `.fetch-${token}`);
  const earlier = `${folder}.before-move-${token}`;
  let isPlaced = false;
  return {
    /** An empty folder. */
    async begin(): Promise<string> {
      await removeFolder(fresh);
      mkdirSync(parent, { recursive: true, mode: 0o711 });
      mkdirSync(fresh, { mode: 0o711 });
      return fresh;
    },
    drop: () => removeFolder(fresh),
    /** What was there stays beside it, until the task has ended. */
    place(): void {
      if (existsSync(folder)) renameSync(folder, earlier);
      renameSync(fresh, folder);
      isPlaced = true;
    },
    /** The task has failed: as before. */
    async undo(): Promise<void> {
      if (!isPlaced) return;
      await removeFolder(folder);
      if (existsSync(earlier)) renameSync(earlier, folder);
    },
  };
}
export type IncomingData = ReturnType<typeof openIncomingData>;
