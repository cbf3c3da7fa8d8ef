import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { ReasonError } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { removeFolder } from "./remove-folder.ts";

interface Owner {
  uid: number;
  gid: number;
}

/** The folders of a release that deploy and start may write to. */
export interface ReleaseFolder {
  /** In the checkout, where a link leads to `kept`. */
  path: string;
  kept: string;
  /** Where the link leads, if scripts see the folder there: a promoted release has the links of the environment that built it. */
  seenAt?: string;
}

export interface ReleaseFoldersOptions {
  source: string;
  /** Folders of the project's data, which survive releases. */
  data: string[];
  dataRoot: string;
  /** Folders that are empty at the start of a release. */
  scratch: string[];
  scratchRoot: string;
  owner: Owner | null;
  /** Copies the contents of a folder into another one, as the scripts' user. */
  copy(from: string, to: string): Promise<void>;
}

/** Where the folders of a release are. */
export function releaseFolders({
  data,
  dataRoot,
  scratch,
  scratchRoot,
}: ReleaseFoldersOptions): ReleaseFolder[] {
  const at = (root: string) => (path: string) => ({ path, kept: join(root, encodeURIComponent(path)) });
  return [...data.map(at(dataRoot)), ...scratch.map(at(scratchRoot))];
}

/**
 * Puts a link to each folder into the checkout. No part of its path may be a link: the repository could lead a runner that is
 * root elsewhere. An empty data folder is filled from that of the repository.
 */
export async function makeReleaseFolders(options: ReleaseFoldersOptions): Promise<ReleaseFolder[]> {
  const { source, owner, dataRoot, copy } = options;
  const folders = releaseFolders(options);
  for (const { path, kept } of folders) {
    makeFolder(kept, owner);
    const place = join(source, ...path.split("/"));
    if (linkTarget(place) === kept) continue;
    mustBeFolders(source, path);
    const isOfRepository = existsSync(place);
    if (isOfRepository && kept.startsWith(`${dataRoot}/`) && readdirSync(kept).length === 0)
      await copy(place, kept);
    if (isOfRepository) await removeFolder(place);
    makeParents(source, path, owner);
    symlinkSync(kept, place);
    if (owner !== null) lchownSync(place, owner.uid, owner.gid);
  }
  return folders;
}

/** The folders of a promoted release: its own, in the places of those that its links lead to. */
export function promotedFolders(
  own: ReleaseFoldersOptions,
  ofOrigin: ReleaseFoldersOptions,
): ReleaseFolder[] {
  const linked = releaseFolders(ofOrigin);
  return releaseFolders(own).map((folder, index) => {
    makeFolder(folder.kept, own.owner);
    return { ...folder, seenAt: linked[index]?.kept ?? folder.kept };
  });
}

/** As a mount: a folder, or one that is seen at another path. */
export type WritableFolder = string | { folder: string; seenAt: string };

export function writableOf({ kept, seenAt }: ReleaseFolder): WritableFolder {
  return seenAt === undefined ? kept : { folder: kept, seenAt };
}

export function mountOf(writable: WritableFolder): { source: string; target?: string; isReadOnly: boolean } {
  return typeof writable === "string"
    ? { source: writable, isReadOnly: false }
    : { source: writable.folder, target: writable.seenAt, isReadOnly: false };
}

function makeFolder(folder: string, owner: Owner | null): void {
  mkdirSync(join(folder, "..", ".."), { recursive: true, mode: 0o711 });
  mkdirSync(join(folder, ".."), { recursive: true, mode: 0o711 });
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  mkdirSync(folder, { mode: 0o700 });
  if (owner !== null) lchownSync(folder, owner.uid, owner.gid);
}

/** Each existing part of the path must be a folder, and no link. */
function mustBeFolders(source: string, path: string): void {
  let place = source;
  for (const part of path.split("/")) {
    place = join(place, part);
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (!found.isDirectory()) throw new ReasonError(newReason("release_folder_taken", { folder: path }));
  }
}

function makeParents(source: string, path: string, owner: Owner | null): void {
  let place = source;
  for (const part of path.split("/").slice(0, -1)) {
    place = join(place, part);
    if (lstatSync(place, { throwIfNoEntry: false })) continue;
    mkdirSync(place, { mode: 0o755 });
    if (owner !== null) lchownSync(place, owner.uid, owner.gid);
  }
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
