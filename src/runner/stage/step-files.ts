import { chownSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { foldersIn } from "../workspace/folders.ts";
import { guarded } from "./script-environment.ts";

/** Where a step in a sandbox or a container finds its files. */
export const stepFilesFolder = "/run/slipway";

interface Owner {
  uid: number;
  gid: number;
}

/** Secrets that a step gets as files, by the name of their variable. */
export type SecretFiles = Record<string, string>;

/**
 * Writes the environment of a step to a folder in memory that only the runner and the step's user can read. It is mounted into
 * the sandbox or the container: arguments, `inspect`, and the environment of programs before the script show neither secrets
 * nor variables. The caller removes the folder with the step.
 */
export function writeStepFiles(env: Record<string, string>, files: SecretFiles, owner: Owner | null): string {
  return inMemory(owner, (folder) => {
    const variables = { ...env, ...secretPaths(files, stepFilesFolder) };
    const file = join(folder, "env");
    writeFileSync(file, assignments(variables), { mode: 0o400 });
    return [file, ...writeSecrets(files, folder)];
  });
}

/** Only the secrets, for a step that sees the whole machine. */
export function writeSecretFiles(files: SecretFiles, owner: Owner | null): string {
  return inMemory(owner, (folder) => writeSecrets(files, folder));
}

/** The variables of secrets whose files are in this folder. */
export function secretPaths(files: SecretFiles, folder: string): Record<string, string> {
  return Object.fromEntries(Object.keys(files).map((name) => [name, join(folder, `secret-${name}`)]));
}

/** Returns the files. Programs such as ssh refuse a key whose last line has no end. */
export function writeSecrets(files: SecretFiles, folder: string): string[] {
  const paths = secretPaths(files, folder);
  return Object.entries(files).map(([name, text]) => {
    const path = paths[name] ?? "";
    writeFileSync(path, text.includes("\n") && !text.endsWith("\n") ? `${text}\n` : text, { mode: 0o400 });
    return path;
  });
}

/** A new folder in memory, given to the owner with the files that `fill` returns. */
function inMemory(owner: Owner | null, fill: (folder: string) => string[]): string {
  const folder = mkdtempSync(join(memoryFolder(), `slipway-env-${process.pid}-`));
  try {
    const files = fill(folder);
    if (owner !== null && process.getuid?.() === 0)
      for (const path of [...files, folder]) chownSync(path, owner.uid, owner.gid);
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Text for a shell that sets variables. */
export function assignments(variables: Record<string, string>): string {
  const lines = Object.entries(variables).map(([name, value]) => guarded(name, `${name}=${quoted(value)}`));
  return lines.map((line) => `${line}\n`).join("");
}

/** One word for a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Removes the folders of runners that were killed. */
export function sweepStepFiles(): void {
  for (const parent of memoryFolders()) {
    for (const name of foldersIn(parent)) {
      const pid = /^slipway-env-(\d+)-/.exec(name)?.[1];
      if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
      try {
        rmSync(join(parent, name), { recursive: true, force: true });
      } catch {
        // It belongs to a runner of another user.
      }
    }
  }
}

function memoryFolder(): string {
  const [folder] = memoryFolders();
  if (folder !== undefined) return folder;
  throw new Error("Neither /dev/shm nor /run is a tmpfs, so secrets cannot be passed to a step.");
}

const tmpfsType = 0x01021994;

function memoryFolders(): string[] {
  const candidates = ["/dev/shm", process.env.XDG_RUNTIME_DIR, "/run"];
  return candidates.filter((folder): folder is string => {
    try {
      return folder !== undefined && statfsSync(folder).type === tmpfsType;
    } catch {
      return false;
    }
  });
}
