import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { manualBundle } from "../src/http/manual/manual-bundle.ts";
import { plainOf } from "../src/http/static-file.ts";
import { root } from "./executable.ts";

/** The pages of the manual and what belongs to them. */
export async function manualFiles(): Promise<{ path: string; bytes: Uint8Array }[]> {
  return (await manualBundle.make(root)).map((asset) => ({ path: asset.path, bytes: plainOf(asset) }));
}

/** Writes the manual of this version into a folder of its name; returns that folder. */
export async function writeManual(site: string): Promise<string> {
  const folder = join(site, manifest.version);
  await rm(folder, { recursive: true, force: true });
  for (const { path, bytes } of await manualFiles()) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
  const versions = readdirSync(site).filter((name) => existsSync(join(site, name, "search.json")));
  const newestFirst = versions.sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
  await writeFile(join(site, "versions.json"), JSON.stringify(newestFirst));
  return folder;
}
