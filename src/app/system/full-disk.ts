import { resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { Fault } from "../../errors.ts";

const fullDiskCodes = ["ENOSPC", "EDQUOT", "SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"];

/** The error of a full disk names no folder: this one does. */
export async function namingFullDisk<T>(config: Config, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (!fullDiskCodes.includes(code)) throw cause;
    throw new Fault(
      "conflict",
      `The disk of ${resolve(config["data.dir"])} is full. Free some space on it, or set data.dir to another folder.`,
      { cause },
    );
  }
}
