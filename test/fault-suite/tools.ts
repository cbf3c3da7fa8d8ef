import { existsSync } from "node:fs";
import { installPackages } from "../support/service-install.ts";

const fakeTimeLibraries = [
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/** The library that changes the clock of one process. */
export function findFakeTime(): string | undefined {
  return fakeTimeLibraries.find((file) => existsSync(file));
}

/** Faults that are not possible on this machine, each with what to install. */
export async function missingTools(): Promise<string[]> {
  const missing: string[] = [];
  if (!findFakeTime() && !((await installPackages("faketime")) && findFakeTime()))
    missing.push("clock-forward and clock-back: install the package `faketime`");
  if (process.getuid?.() !== 0)
    missing.push("full-disk and read-only-disk: they mount a file system, as root");
  if (!Bun.which("prlimit")) missing.push("few-files: install `prlimit` (package util-linux)");
  return missing;
}
