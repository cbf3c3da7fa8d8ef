import { appendFileSync, lstatSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { workspacesIn } from "./folders.ts";

/** The file in the folder `scripts` of a workspace that receives the output of a started service. */
export const serviceLogName = "start.log";

/** A service that prints much must not fill the disk: it writes to its file as long as it runs. */
export const serviceLogMaxBytes = 64 * 1024 * 1024;

/**
 * Empties the output files of services that are larger than `maxBytes`. The services append, so they continue at the new
 * end of the file.
 */
export function limitServiceLogs(root: string, maxBytes: number, log: Logger): void {
  for (const file of workspacesIn(root).map((workspace) => join(workspace, "scripts", serviceLogName))) {
    try {
      const found = lstatSync(file, { throwIfNoEntry: false });
      if (!found?.isFile() || found.size <= maxBytes) continue;
      truncateSync(file, 0);
      appendFileSync(file, `[the output was larger than ${maxBytes} bytes and was removed]\n`);
      log.warn({ file, bytes: found.size }, "the output of a service was removed, because it was too large");
    } catch (error) {
      log.debug({ file, error: messageOf(error) }, "the output of a service could not be limited");
    }
  }
}
