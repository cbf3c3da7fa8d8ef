import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A small file system that the suite can fill or make read-only. */
export interface Disk {
  folder: string;
  fill(): void;
  free(): void;
  /** For files that are opened from now on. */
  setReadOnly(isReadOnly: boolean): void;
  remove(): void;
}

const sizeMb = 96;

/** Undefined if mounting is not possible: not root, or a container without the capability. */
export function mountDisk(folder: string): Disk | undefined {
  mkdirSync(folder, { recursive: true });
  if (!run("mount", "-t", "tmpfs", "-o", `size=${sizeMb}m`, "tmpfs", folder)) return undefined;
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill() {
      const { bavail, bsize } = statfsSync(folder);
      const piece = new Uint8Array(bsize);
      // The server writes meanwhile, so that each of these writes may find the disk full.
      try {
        writeFileSync(ballast, new Uint8Array(Math.max(0, bavail - 16) * bsize));
        for (let count = 0; count < 64; count++) writeFileSync(ballast, piece, { flag: "a" });
      } catch {
        // Full, as intended.
      }
    },
    free: () => rmSync(ballast, { force: true }),
    setReadOnly(isReadOnly) {
      // A second mount over the first: the first cannot become read-only while a service writes to its log.
      const isDone = isReadOnly
        ? run("mount", "--bind", folder, folder) && run("mount", "-o", "remount,bind,ro", folder)
        : run("umount", "-l", folder);
      if (!isDone) throw new Error(`${folder} could not be made ${isReadOnly ? "read-only" : "writable"}.`);
    },
    remove() {
      if (!existsSync(folder)) return;
      while (run("umount", "-l", folder));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function run(...command: string[]): boolean {
  return Bun.spawnSync(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}
