import { join } from "node:path";

/** The compiled program runs from a file system of its own. Paths of modules tell nothing: its build replaces them. */
const isCompiled = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main);
const root = join(import.meta.dir, "..");

/**
 * The runtime would otherwise read .env, bunfig.toml and tsconfig.json of the current folder, and run code that they name.
 * bin/slipway has the same flags; the executable is built without these features (scripts/executable.ts).
 */
const runtimeFlags = [
  "--no-env-file",
  "--no-install",
  `--config=${join(root, "bunfig.toml")}`,
  `--tsconfig-override=${join(root, "tsconfig.json")}`,
];

/** The command that starts this program again: a compiled executable, or the runtime with its entry file. */
export function ownCommand(): string[] {
  return isCompiled ? [process.execPath] : runtimeCommand("src/launch/launch.ts");
}

/** The command that this process was started with. */
export function restartCommand(): [program: string, ...args: string[]] {
  const [, entry = "", ...args] = process.argv;
  return isCompiled ? [process.execPath, ...args] : [process.execPath, ...process.execArgv, entry, ...args];
}

/** The command that runs a file of the sources; only where `ownFolder` is not null. */
export function runtimeCommand(file: string): string[] {
  return [process.execPath, ...runtimeFlags, join(root, file)];
}

/** Where this program is: its folder, or its executable file. */
export function ownProgram(): string {
  return isCompiled ? process.execPath : root;
}

/** The folder of this program's package.json and node_modules; null: a compiled executable has none. */
export function ownFolder(): string | null {
  return isCompiled ? null : root;
}
