import { homedir } from "node:os";
import { basename, dirname } from "node:path";
import { isIn, type MachineView } from "./machine-view.ts";

/** A program that the machine has and sandboxes do not show. */
export interface MissingProgram {
  program: string;
  /** What to add to `runner.sandboxPaths`. */
  folder: string;
}

/** How shells and `env` say that they did not find a program. */
const notFound = [
  /(?:^|[\s:])([\w.+/-]+): (?:command )?not found\s*$/m,
  /^(?:\/usr\/bin\/)?env: [‘'"]?([\w.+/-]+)[’'"]?: No such file or directory\s*$/m,
];

/** What a script whose exit code is 127 did not find, if only the sandbox keeps it from the script; null: something else. */
export function missingProgram(
  output: string,
  path: string,
  { readOnly, added }: MachineView,
  home = homedir(),
): MissingProgram | null {
  const program = notFound.map((pattern) => pattern.exec(output)?.[1]).find((name) => name !== undefined);
  const found = program && Bun.which(program, { PATH: `${path}:${home}/.local/bin:${home}/bin` });
  if (!program || !found) return null;
  const shown = [...readOnly, ...added.map((each) => each.path), "/bin", "/sbin"];
  if (shown.some((folder) => isIn(found, folder))) return null;
  const bin = dirname(found);
  // Its libraries lie beside `bin`, except where people collect programs.
  const isCollection = basename(bin) !== "bin" || [home, `${home}/.local`, "/"].includes(dirname(bin));
  return { program, folder: isCollection ? bin : dirname(bin) };
}
