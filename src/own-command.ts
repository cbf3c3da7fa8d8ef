import { existsSync } from "node:fs";

/** The command that starts this program again: a compiled executable, or the runtime with its entry file. */
export function ownCommand(): string[] {
  const main = Bun.fileURLToPath(new URL("./main.ts", import.meta.url));
  return existsSync(main) ? [process.execPath, main] : [process.execPath];
}
