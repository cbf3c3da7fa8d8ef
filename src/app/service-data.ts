import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { Fault, messageOf } from "../errors.ts";
import { backUpData, type DataBackup, projectsWithData } from "../runner/service/service-data.ts";
import { runnerFolders } from "./runner-folder.ts";

/** Writes the data folders of services of the local runner into a new folder, one file for each project. */
export async function backUpServiceData(config: Config, folder: string): Promise<DataBackup[]> {
  const { root } = runnerFolders(config);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    throw new Fault(
      "conflict",
      `The database is backed up, and the data of services is not: ${messageOf(cause)}. Remove the folder, or name another file.`,
      { cause },
    );
  }
  const done: DataBackup[] = [];
  for (const id of projectsWithData(root))
    done.push(await backUpData(root, id, join(folder, `${id}.tar.zst`)));
  return done;
}
