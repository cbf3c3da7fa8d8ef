import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findExecutable, run } from "./service-install.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The database files of a process as they were at their last sync: what a power loss may leave of them. */
export interface SyncedFiles {
  /** For the environment of the process. */
  env: Record<string, string>;
  /** Where the files are, under their names. */
  folder: string;
  setFailing(isFailing: boolean): void;
}

export async function makeSyncedFiles(): Promise<SyncedFiles> {
  const compiler = await findExecutable("cc", "build-essential", "PATH");
  const folder = temporaryFolder("synced");
  const library = join(temporaryFolder("synced-library"), "synced-files.so");
  const source = join(import.meta.dir, "synced-files.c");
  if (!(await run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"])))
    throw new Error(`${source} cannot be compiled.`);
  const fail = join(folder, "fail");
  return {
    env: { LD_PRELOAD: library, SYNCED_FILES: folder },
    folder,
    setFailing: (isFailing) => (isFailing ? writeFileSync(fail, "") : rmSync(fail)),
  };
}
