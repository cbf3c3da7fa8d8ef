import { join } from "node:path";

/** The compiled program runs from a file system of its own. Paths of modules tell nothing: its build replaces them. */
const isCompiled = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main);
const root = join(import.meta.dir, "..");

/** The command that starts this program again: a compiled executable, or the runtime with its entry file. */
export function ownCommand(): string[] {
  return isCompiled ? [process.execPath] : [process.execPath, join(root, "src/launch/launch.ts")];
}

/** The folder of this program's package.json and node_modules; null: a compiled executable has none. */
export function ownFolder(): string | null {
  return isCompiled ? null : root;
}
