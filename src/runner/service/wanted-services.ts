import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { replaceFile } from "../../whole-file.ts";

/** Which services of a project should run. */
export interface Wanted {
  taskId: number;
  commit: string;
  workspace: string;
  /** When its services took the place of the earlier ones. */
  at: number;
  services: { name: string; instance: string; isStopped: boolean }[];
  /** Scripts `switch` of a later release have begun: a proxy may ask that one. */
  isSwitching?: boolean;
}

/** The file that says it, which a later runner reads. */
export function openWanted(file: string) {
  let wanted: Wanted | null = null;
  let changedAt = -1;
  const lastChange = () => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const find = (name: string) => wanted?.services.find((each) => each.name === name);

  function write(next: Wanted | null): void {
    if (next === null) rmSync(file, { force: true });
    else {
      mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
      replaceFile(file, JSON.stringify(next));
    }
    wanted = next;
    changedAt = lastChange();
  }

  return {
    now: () => wanted,
    write,
    /** Reads the file if it was changed, also by another process; returns whether it was. */
    read(): boolean {
      const last = lastChange();
      if (last === changedAt) return false;
      changedAt = last;
      wanted = last === 0 ? null : (JSON.parse(readFileSync(file, "utf8")) as Wanted);
      return true;
    },
    /** Whether the instance in this folder is the one of its service. */
    has: (name: string, folder: string) => find(name)?.instance === basename(folder),
    /** Whether a proxy may ask a later release until it is switched back. */
    isSwitching: () => wanted?.isSwitching === true,
    setSwitching(isSwitching: boolean): void {
      if (wanted !== null) write({ ...wanted, isSwitching });
    },
    isStopped: (name: string) => find(name)?.isStopped === true,
  };
}
