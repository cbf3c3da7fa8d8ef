import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** An empty folder, which is removed at the end of the run. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `slipway-${name}-`));
  made.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

// Not emitted by `bun test`, which calls after-all-tests.ts.
process.on("exit", removeTemporaryFolders);
