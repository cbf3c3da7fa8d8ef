import { existsSync, readFileSync } from "node:fs";
import type { RunningService } from "../../support/service-process.ts";
import { type Part, type Role, signalSafely, until } from "./part.ts";

export interface ServiceOptions {
  name: string;
  role: Role;
  politeSignal: NodeJS.Signals;
  isReady(): Promise<boolean>;
}

/** A database or broker of the suite as a part that faults can hit. */
export function servicePart(service: RunningService, { isReady, ...about }: ServiceOptions): Part {
  let starting: Promise<void> | null = null;
  const isRunning = () => existsSync(`/proc/${service.pid}`);
  return {
    ...about,
    pids: () => (isRunning() ? [service.pid, ...childrenOf(service.pid)] : []),
    isRunning,
    signal: (signal) => signalSafely(service.pid, signal),
    async ended(limitMs) {
      const { pid } = service;
      return until(() => service.pid !== pid || !existsSync(`/proc/${pid}`), limitMs);
    },
    async start() {
      // A running start retries if the process ends meanwhile.
      starting ??= service.restart().finally(() => {
        starting = null;
      });
      await starting;
    },
    isReady: async () => isRunning() && (await isReady().catch(() => false)),
    output: () => "",
  };
}

/** PostgreSQL has one process per connection. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
