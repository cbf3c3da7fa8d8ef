import { readFileSync } from "node:fs";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { ServiceState } from "../../model/service/service.ts";
import { replaceFile } from "../../whole-file.ts";

/** What people see of a service, and a later runner needs to know. */
export interface Status {
  state: Exclude<ServiceState, "unknown">;
  since: number;
  startedAt: number;
  /** Of which copy of the service. */
  copy: string;
  lastLines: string;
}

/** The status of an instance, in a file. */
export function openStatus(
  file: string,
  { clock, log, changed }: { clock: Clock; log: Logger; changed(): void },
) {
  let status = read();

  function read(): Status {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as Status;
    } catch {
      const now = clock.now();
      return { state: "starting", since: now, startedAt: now, copy: "", lastLines: "" };
    }
  }

  return {
    now: (): Readonly<Status> => status,
    change(to: Partial<Status>): void {
      const isNew = to.state !== undefined && to.state !== status.state;
      const next = { ...status, ...(isNew ? { since: clock.now() } : {}), ...to };
      if (JSON.stringify(next) === JSON.stringify(status)) return;
      status = next;
      try {
        replaceFile(file, JSON.stringify(status));
      } catch (error) {
        log.debug({ file, error: messageOf(error) }, "the state of a service was not written");
      }
      changed();
    },
  };
}
