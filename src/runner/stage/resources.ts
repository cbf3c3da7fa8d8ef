import type { GroupLimits } from "../process/control-group.ts";
import type { RunTask } from "../protocol.ts";

/** Limits of one stage; null: none. */
export type Resources = RunTask["resources"];

/** The most that this runner lets a stage use; null: no limit. */
export interface ResourceBounds {
  memoryBytes: number | null;
  cpus: number | null;
}

/** The project's limits, within those of the runner. */
export function resourcesFor(asked: Resources, bounds: ResourceBounds): Resources {
  return {
    ...asked,
    memoryBytes: smaller(asked.memoryBytes, bounds.memoryBytes),
    cpus: smaller(asked.cpus, bounds.cpus),
  };
}

function smaller(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/** The limits that a control group sets, and those that are left to `limited`. */
export function splitLimits(
  resources: Resources,
  controllers: string[],
): { group: GroupLimits | null; rest: Resources } {
  const has = (controller: string) => controllers.includes(controller);
  const group = {
    memoryBytes: has("memory") ? resources.memoryBytes : null,
    processes: has("pids") ? resources.processes : null,
    cpus: has("cpu") ? resources.cpus : null,
  };
  const rest = {
    ...resources,
    memoryBytes: has("memory") ? null : resources.memoryBytes,
    processes: has("pids") ? null : resources.processes,
  };
  return { group: Object.values(group).every((limit) => limit === null) ? null : group, rest };
}

/**
 * The command under the limits that exist without a container and a control group: memory of each process, processes of the user (not for
 * root), priority. The kernel has no such limit for processor time.
 */
export function limited({ memoryBytes, processes, nice }: Resources, command: string[]): string[] {
  const limits = [
    ...(memoryBytes === null ? [] : [`ulimit -d ${Math.ceil(memoryBytes / 1024)}`]),
    ...(processes === null ? [] : [`ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}`]),
  ];
  if (limits.length === 0 && nice === 0) return command;
  const run = nice === 0 ? 'exec "$@"' : `exec nice -n ${nice} "$@"`;
  return ["sh", "-c", [...limits, run].join("\n"), "sh", ...command];
}
