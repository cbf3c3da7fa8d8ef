import { closeSync, openSync } from "node:fs";
import { openCLibrary } from "./c-library.ts";

const lockShared = 1;
const lockExclusive = 2;
const withoutWaiting = 4;
const punchHole = 2;
const keepSize = 1;

/** Calls of the system for open files that the runtime does not offer. */
export interface FileCalls {
  /** Takes the lock of an open file (flock), which every process that inherits the descriptor holds; false: another one has it. */
  lock(descriptor: number): boolean;
  /** Whether a process holds the lock of this file. */
  isLocked(path: string): boolean;
  /** Frees the disk space of the beginning of a file, whose size stays; false: this file system cannot. */
  freeBeginning(descriptor: number, bytes: number): boolean;
}

export async function openFileCalls(): Promise<FileCalls> {
  const { symbols } = await openCLibrary({
    flock: { args: ["i32", "i32"], returns: "i32" },
    fallocate: { args: ["i32", "i32", "i64", "i64"], returns: "i32" },
  });
  return {
    lock: (descriptor) => symbols.flock(descriptor, lockExclusive | withoutWaiting) === 0,
    isLocked(path) {
      let descriptor: number;
      try {
        descriptor = openSync(path, "r");
      } catch {
        return false;
      }
      try {
        return symbols.flock(descriptor, lockShared | withoutWaiting) !== 0;
      } finally {
        closeSync(descriptor);
      }
    },
    freeBeginning: (descriptor, bytes) =>
      symbols.fallocate(descriptor, punchHole | keepSize, 0n, BigInt(bytes)) === 0,
  };
}
