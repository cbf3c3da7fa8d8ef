import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../whole-file.ts";

/** Beside the checkout, where scripts of another user cannot write. */
const manifestName = "manifest.json";
/** A workspace may have a million files: the runner must go on renewing its leases. */
const turnMaxMs = 20;
const maxNamed = 5;

/** A line for each file below a folder, by path. */
type Lines = Map<string, string>;

interface Manifest {
  lines: Lines;
  /** Nothing was run in the folder since its build: what is not listed does not belong there. */
  isWhole: boolean;
}

/** Records what a build has left, for a deploy that waits for an approval. */
export async function writeManifest(folder: string): Promise<void> {
  save(folder, { lines: await readTree(join(folder, "source")), isWhole: true });
}

/** Files that differ from the manifest; at most a few. A manifest that is missing differs too. */
export async function changedSince(folder: string): Promise<string[]> {
  const manifest = read(folder);
  if (manifest === null) return [manifestName];
  const { lines, isWhole } = manifest;
  const found = await readTree(join(folder, "source"));
  const changed: string[] = [];
  for (const path of new Set([...lines.keys(), ...(isWhole ? found.keys() : [])])) {
    if (lines.get(path) !== found.get(path)) changed.push(path);
    if (changed.length === maxNamed) break;
  }
  return changed;
}

/** After deploy and start, which may change the workspace: only the files of the build that they have left alone stay listed. */
export async function relaxManifest(folder: string): Promise<void> {
  const manifest = read(folder);
  if (manifest === null) return;
  const found = await readTree(join(folder, "source"));
  const same = [...manifest.lines].filter(
    ([path, line]) => found.get(path) === line && !line.startsWith("folder "),
  );
  save(folder, { lines: new Map(same), isWhole: false });
}

function save(folder: string, { lines, isWhole }: Manifest): void {
  replaceFile(join(folder, manifestName), JSON.stringify({ isWhole, lines: [...lines] }));
}

/** Null: there is none that can be read. */
function read(folder: string): Manifest | null {
  try {
    const written = JSON.parse(readFileSync(join(folder, manifestName), "utf8")) as {
      isWhole: boolean;
      lines: [string, string][];
    };
    return { ...written, lines: new Map(written.lines) };
  } catch {
    return null;
  }
}

async function readTree(root: string): Promise<Lines> {
  const manifest: Lines = new Map();
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
