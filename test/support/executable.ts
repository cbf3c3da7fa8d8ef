import { join } from "node:path";
import { nativeTarget, writeExecutable } from "../../scripts/executable.ts";
import { temporaryFolder } from "./temporary-folder.ts";

let first: Promise<string> | undefined;

/** The executable of these sources, made once in a run of tests. */
export function executable(): Promise<string> {
  first ??= make(join(temporaryFolder("executable"), "slipway"));
  return first;
}

async function make(file: string): Promise<string> {
  await writeExecutable({ file, build: { commit: "test", target: nativeTarget } });
  return file;
}
