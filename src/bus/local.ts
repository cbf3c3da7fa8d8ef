import type { Clock } from "../clock.ts";
import type { Bus } from "./bus.ts";
import type { LogName } from "./log.ts";
import type { LogFile } from "./log-file.ts";
import { MemoryLog } from "./memory-log.ts";

/** Null: the log ends with the process. */
export type LogFiles = Record<LogName, LogFile | null>;

/** The bus of a single instance. There are no other services: `client` and `events` are dropped. */
export function localBus(clock: Clock, files: LogFiles): Bus {
  const broadcast = new MemoryLog({ file: files.broadcast, clock });
  const control = new MemoryLog({ file: files.control, clock });
  return {
    name: "local",
    isCluster: false,
    broadcast,
    control,
    async publish() {},
    start() {
      broadcast.start();
      control.start();
    },
    state: () => ({ ready: true, detail: "one instance, no queue" }),
    onStateChange() {},
    async close() {
      await Promise.all([broadcast.close(), control.close()]);
    },
  };
}
