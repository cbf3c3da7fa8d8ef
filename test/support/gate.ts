import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const markIn = (folder: string) => join(folder, "reached");

/** Holds code that runs in another thread until the test opens the gate. The folder is plain data that can be sent there. */
export function makeGate() {
  const folder = temporaryFolder("gate");
  return {
    folder,
    reached: () => eventually("the gate is reached", () => existsSync(markIn(folder))),
    open: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Waits until the gate is opened, at most `limitMs`. */
export async function waitAtGate(folder: string, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  writeFileSync(markIn(folder), "");
  // It is opened by another thread or process.
  while (existsSync(folder) && performance.now() < deadline) await Bun.sleep(10);
}
