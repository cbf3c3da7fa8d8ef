import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runtimeCommand } from "../own-command.ts";

/** The installation: the folder of package.json, src and node_modules. */
export const root = join(import.meta.dir, "../..");
/** Each build has a folder of its own here. `current.json`, which is replaced in one step, names the one to run. */
export const programFolder = join(root, ".cache/program");
export const manifestFile = join(programFolder, "current.json");
const builder = "scripts/build-program.ts";

/** What a build was made of and by; a program is run only while all of it is unchanged. */
export interface Manifest {
  /** Absolute paths are part of the program. */
  root: string;
  runtime: string;
  /** The file to run. */
  main: string;
  /** Files of the build and all files it was made of, from the root. */
  files: FileState[];
}

/** Path, size, and the times of the last change of the content and of the inode, which a copy cannot preserve. */
export type FileState = [path: string, size: number, modifiedMs: number, changedMs: number];

export const runtimeName = `${Bun.version_with_sha} ${process.platform} ${process.arch}`;

export function stateOf(path: string): FileState {
  const { size, mtimeMs, ctimeMs } = statSync(join(root, path));
  return [path, size, mtimeMs, ctimeMs];
}

/** The file to run instead of the sources; null: there is none, or it was built from other files. */
export function currentProgram(): string | null {
  try {
    const manifest = JSON.parse(readFileSync(manifestFile, "utf8")) as Manifest;
    if (manifest.root !== root || manifest.runtime !== runtimeName) return null;
    return manifest.files.every(isUnchanged) ? manifest.main : null;
  } catch {
    return null;
  }
}

function isUnchanged([path, ...before]: FileState): boolean {
  const [, ...now] = stateOf(path);
  return now.every((value, index) => value === before[index]);
}

/** Builds in a process of its own, which outlives a short run of this one. Does nothing where the folder is read-only. */
export function buildInBackground(): void {
  try {
    if (!existsSync(join(root, builder))) return;
    accessSync(root, constants.W_OK);
    // It inherits no environment, because that may contain secrets.
    Bun.spawn(runtimeCommand(builder), {
      cwd: root,
      env: {},
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
    }).unref();
  } catch {
    // Without a built program, the sources run.
  }
}
