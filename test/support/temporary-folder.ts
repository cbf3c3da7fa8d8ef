import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** An empty folder, which is removed at the end of the run. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `slipway-${name}-`));
  // Scripts of a runner that is root run as another user, who writes there too.
  chmodSync(folder, 0o777);
  made.push(folder);
  return folder;
}

/** Where the runner of a server with this data folder works: scripts of another user cannot pass through the data folder. */
export function runnerFolderOf(dataDir: string): string {
  return `${dataDir}-runner`;
}

/** A folder for the tests of a server with this data folder that its scripts can read and write. */
export function scratchOf(dataDir: string): string {
  const folder = `${dataDir}-scratch`;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of made.splice(0).flatMap((each) => [each, runnerFolderOf(each), `${each}-scratch`]))
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

// Not emitted by `bun test`, which calls after-all-tests.ts.
process.on("exit", removeTemporaryFolders);
