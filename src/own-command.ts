import { existsSync } from "node:fs";

/** How this program is called again: as one executable file, or by its runtime. */
export function ownCommand(): string[] {
  const main = Bun.fileURLToPath(new URL("./main.ts", import.meta.url));
  return existsSync(main) ? [process.execPath, main] : [process.execPath];
}
