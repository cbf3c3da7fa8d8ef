import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";

/** A folder of the machine that `runner.sandboxPaths` adds. */
export interface SandboxPath {
  path: string;
  isWritable: boolean;
}

/** What a sandbox shows of the machine, apart from the folders of its task. */
export interface MachineView {
  /** Folders and files, at the same path. */
  readOnly: string[];
  /** Links in the root of the machine, such as /bin. */
  links: { path: string; target: string }[];
  added: SandboxPath[];
  /** Covered by an empty folder, because they lie in a shown one. */
  hiddenFolders: string[];
  hiddenFiles: string[];
}

const programFolders = ["/usr", "/opt", "/etc", "/nix", "/gnu"];
/** Folders of their own, or links into /usr. */
const inRoot = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Links in /etc that lead here have no file behind them, or one of the sandbox's own. */
const ownFolders = ["/proc", "/sys", "/dev", "/tmp"];
/** Links in /etc lie in its folders too, such as those of certificates. */
const linkDepthMax = 4;

/**
 * Reads the machine at the start of a runner. `secret` are files and folders that no sandbox may show, wherever they lie: the
 * data folder, the runner's folder, the settings and the program.
 */
export function readMachineView(added: SandboxPath[], secret: string[]): MachineView {
  const links = inRoot.filter(isLink).map((path) => ({ path, target: readlinkSync(path) }));
  const folders = [...programFolders, ...inRoot].filter((path) => existsSync(path) && !isLink(path));
  const given = added.map(({ path, isWritable }) => ({ path: realPathOf(path), isWritable }));
  const shown = [...folders, ...given.map(({ path }) => path)];
  const targets = linkTargetsIn("/etc", shown);
  const hidden = [...new Set(secret.filter((path) => existsSync(path)).map(realPathOf))]
    .filter((path) => shown.some((folder) => isIn(path, folder)))
    // A parent comes first: what it covers needs no cover.
    .toSorted()
    .filter((path, index, all) => !all.slice(0, index).some((parent) => isIn(path, parent)));
  const isFolder = (path: string) => statSync(path).isDirectory();
  return {
    readOnly: [...folders, ...targets.filter((path) => !secret.some((each) => isIn(path, realPathOf(each))))],
    links,
    added: given,
    hiddenFolders: hidden.filter(isFolder),
    hiddenFiles: hidden.filter((path) => !isFolder(path)),
  };
}

/** Whether a path is this folder or lies in it. */
export function isIn(path: string, folder: string): boolean {
  return `${path}${sep}`.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** Files and folders outside of the shown ones that links in this folder lead to, such as resolv.conf in /run. */
function linkTargetsIn(folder: string, shown: string[], depth = 1): string[] {
  return [...new Set(entriesOf(folder).flatMap((entry) => targetsOf(entry, shown, depth)))];
}

function targetsOf(path: string, shown: string[], depth: number): string[] {
  try {
    const found = lstatSync(path);
    if (found.isDirectory()) return depth < linkDepthMax ? linkTargetsIn(path, shown, depth + 1) : [];
    if (!found.isSymbolicLink()) return [];
    const target = realpathSync(path);
    if ([...shown, ...ownFolders].some((each) => isIn(target, each))) return [];
    const behind = statSync(target);
    // A folder of /run may have sockets.
    return behind.isFile() || (behind.isDirectory() && !isIn(target, "/run")) ? [target] : [];
  } catch {
    // It leads nowhere, or this user may not follow it.
    return [];
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
