import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const main = Bun.fileURLToPath(new URL("./launch/launch.ts", import.meta.url));

/** The command that starts this program again: a compiled executable, or the runtime with its entry file. */
export function ownCommand(): string[] {
  return existsSync(main) ? [process.execPath, main] : [process.execPath];
}

/** The folder of this program's package.json and node_modules; null: a compiled executable has none. */
export function ownFolder(): string | null {
  return existsSync(main) ? join(dirname(main), "../..") : null;
}
