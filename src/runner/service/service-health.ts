import { join } from "node:path";
import type { Reason } from "../../reason/reason.ts";
import { checkOnce, fillCheck } from "../stage/check.ts";
import type { InstanceRecord } from "./instance-folder.ts";
import type { PreparedService } from "./prepare-service.ts";
import { foreignListener } from "./service-ports.ts";

const checkTimeoutMs = 5000;

/** Runs the check of a service once. Null: it is healthy. */
export function checkService(
  folder: string,
  { service, variables, port }: InstanceRecord,
  prepared: PreparedService,
  processes: () => ReadonlySet<number>,
): Promise<Reason | null> {
  if (service.check === null) return Promise.resolve(null);
  return checkOnce(fillCheck(service.check, variables, port), checkTimeoutMs, {
    runCommand: (command, timeoutMs) => runBeside(folder, prepared, command, timeoutMs),
    // The engine publishes a port of a container only if nobody else has it.
    foreignListener: (asked) => (prepared.kind === "container" ? null : foreignListener(asked, processes())),
  });
}

/** Runs a command where the service runs, with its variables; returns its exit code. */
export function runBeside(
  folder: string,
  prepared: PreparedService,
  command: string,
  timeoutMs: number,
): Promise<number> {
  const child = Bun.spawn(prepared.beside(command), {
    cwd: prepared.cwd,
    env: prepared.env,
    stdin: Bun.file(join(folder, "env")),
    stdout: "ignore",
    stderr: "ignore",
  });
  const timer = setTimeout(() => {
    // Without a sandbox it leads a session of its own.
    for (const pid of prepared.kind === "none" ? [-child.pid, child.pid] : [child.pid])
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
  }, timeoutMs);
  return child.exited.finally(() => clearTimeout(timer));
}
