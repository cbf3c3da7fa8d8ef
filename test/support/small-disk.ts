import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./service-install.ts";

/** A real file system of a few megabytes. */
export interface SmallDisk extends AsyncDisposable {
  path: string;
  freeBytes(): number;
  /** Uses all space except this many bytes. */
  fill(leave?: number): void;
  /** Frees the space that `fill` used. */
  free(): void;
  remove(): Promise<void>;
}

/** Whether this process may mount file systems. */
export async function canMount(): Promise<boolean> {
  const disk = await makeSmallDisk(1).catch(() => null);
  await disk?.remove();
  return disk !== null;
}

export async function makeSmallDisk(megabytes: number): Promise<SmallDisk> {
  const path = mkdtempSync(join(tmpdir(), "slipway-disk-"));
  const remove = async () => {
    await run(["umount", "--lazy", path], { quiet: true });
    rmSync(path, { recursive: true, force: true });
  };
  if (!(await run(["mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], { quiet: true }))) {
    await remove();
    throw new Error("A file system cannot be mounted here: that needs root.");
  }
  const filler = join(path, "filler");
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    path,
    freeBytes,
    fill(leave = 0) {
      for (let isDone = false; !isDone; ) {
        rmSync(filler, { force: true });
        try {
          writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - leave)));
          isDone = true;
        } catch (error) {
          // The server has written meanwhile.
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          isDone = leave === 0;
        }
      }
    },
    free: () => rmSync(filler, { force: true }),
    remove,
    [Symbol.asyncDispose]: remove,
  };
}
