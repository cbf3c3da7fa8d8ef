import { renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * Replaces the content of a file that only its owner can read. If the process is killed or the disk is full, the file
 * keeps its earlier content; writing in place would leave it empty.
 */
export function replaceFile(file: string, text: string | Uint8Array): void {
  const beside = `${file}.new`;
  try {
    writeFileSync(beside, text, { mode: 0o600 });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
