import { lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../whole-file.ts";

/** Beside the checkout, where scripts of another user cannot write. */
const manifestName = "manifest.json";
/** A workspace may have a million files: the runner must go on renewing its leases. */
const turnMaxMs = 20;
const maxNamed = 5;

/** A line for each file below a folder, by path. */
type Manifest = Map<string, string>;

/** Records what a build has left, for a deploy that waits for an approval. */
export async function writeManifest(folder: string): Promise<void> {
  const manifest = await readTree(join(folder, "source"));
  replaceFile(join(folder, manifestName), JSON.stringify([...manifest]));
}

/** Files that were changed, added or removed since the manifest was written; at most a few. Null: there is no manifest. */
export async function changedSince(folder: string): Promise<string[] | null> {
  let written: Manifest;
  try {
    written = new Map(JSON.parse(readFileSync(join(folder, manifestName), "utf8")) as [string, string][]);
  } catch {
    return null;
  }
  const found = await readTree(join(folder, "source"));
  const changed: string[] = [];
  for (const path of new Set([...written.keys(), ...found.keys()])) {
    if (written.get(path) !== found.get(path)) changed.push(path);
    if (changed.length === maxNamed) break;
  }
  return changed;
}

export function forgetManifest(folder: string): void {
  rmSync(join(folder, manifestName), { force: true });
}

async function readTree(root: string): Promise<Manifest> {
  const manifest: Manifest = new Map();
  const waiting = ["."];
  let turnAt = performance.now();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const line = lineOf(join(root, path));
    manifest.set(path, line);
    if (line.startsWith("folder "))
      for (const name of readdirSync(join(root, path))) waiting.push(path === "." ? name : `${path}/${name}`);
    if (performance.now() - turnAt < turnMaxMs) continue;
    await Bun.sleep(0);
    turnAt = performance.now();
  }
  return manifest;
}

/**
 * The kernel sets the time of the last change of state (ctime) itself at every change of content, owner, mode or name, and
 * no program can choose it. A file that was replaced has another inode.
 */
function lineOf(path: string): string {
  const found = lstatSync(path, { bigint: true });
  const kind = found.isDirectory()
    ? "folder"
    : found.isSymbolicLink()
      ? `link ${readlinkSync(path)}`
      : "file";
  return `${kind} ${found.ino} ${found.ctimeNs} ${found.mode} ${found.uid} ${found.size}`;
}
