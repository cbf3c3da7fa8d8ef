import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { randomToken } from "../../secrets.ts";
import { foldersIn } from "../workspace/folders.ts";
import { isOwnerAlive, ownName } from "../workspace/own-folder.ts";
import { removeFolder } from "../workspace/remove-folder.ts";

/** Where data is that arrives, and where what was there before waits for the end of the task. `key`: whose, and a token. */
function besidesOf(folder: string, key: string) {
  const fresh = join(dirname(folder), `.fetch-${key}`);
  const earlier = `${folder}.before-move-${key}`;
  return {
    fresh,
    earlier,
    /** What has come stays. What is removed has the name of what may be removed first: the runner may be killed. */
    async keep(): Promise<void> {
      if (existsSync(earlier)) renameSync(earlier, fresh);
      await removeFolder(fresh);
    },
    /** As before. */
    async putBack(): Promise<void> {
      if (existsSync(folder)) renameSync(folder, fresh);
      if (existsSync(earlier)) renameSync(earlier, folder);
      await removeFolder(fresh);
    },
  };
}

/** Data that comes from another runner: beside its place first. */
export function openIncomingData(folder: string, owner = ownName()) {
  const { fresh, earlier, keep, putBack } = besidesOf(folder, `${owner}-${randomToken(6, "hex")}`);
  let isPlaced = false;
  return {
    /** An empty folder. */
    async begin(): Promise<string> {
      await removeFolder(fresh);
      mkdirSync(dirname(folder), { recursive: true, mode: 0o711 });
      mkdirSync(fresh, { mode: 0o711 });
      return fresh;
    },
    drop: () => removeFolder(fresh),
    /** What was there stays beside it, until the task has ended. */
    place(): void {
      const isThere = existsSync(folder);
      if (isThere) renameSync(folder, earlier);
      try {
        renameSync(fresh, folder);
      } catch (error) {
        if (isThere) renameSync(earlier, folder);
        throw error;
      }
      isPlaced = true;
    },
    /** The task has succeeded. */
    done: keep,
    /** The task has failed. */
    async undo(): Promise<void> {
      if (isPlaced) await putBack();
    },
  };
}
export type IncomingData = ReturnType<typeof openIncomingData>;

/**
 * At the start of a runner: removes data that a killed runner was fetching, and puts the earlier data back unless the new data
 * serves already. Failures are logged.
 */
export async function sweepIncomingData(
  parent: string,
  isServing: (projectId: number) => boolean,
  log: Logger,
): Promise<void> {
  for (const name of foldersIn(parent)) {
    const [, id, key = "", owner = ""] =
      /^(?:\.fetch|(\d+)\.before-move)-((\d+-\d*)-[0-9a-f]+)$/.exec(name) ?? [];
    if (owner === "" || isOwnerAlive(owner)) continue;
    try {
      const folder = join(parent, id ?? "");
      if (id === undefined) await removeFolder(join(parent, name));
      else if (existsSync(folder) && isServing(Number(id))) await besidesOf(folder, key).keep();
      else await besidesOf(folder, key).putBack();
    } catch (error) {
      log.error({ folder: join(parent, name), error: messageOf(error) }, "data of a killed runner stays");
    }
  }
}
