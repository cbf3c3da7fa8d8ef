import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";

/** Files that are read at the same time. */
const atOnce = 8;
const chunkBytes = 256 * 1024;
/** Who runs a file is not part of it: setuid bits do not go to other runners. */
const modeMask = 0o1777;
/** What a build has left may be replaced by a link or a pipe until it is opened. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface TreeDigest {
  /** SHA-256 in hex. */
  digest: string;
  files: number;
  bytes: number;
}

/**
 * The digest of the files in a folder: the same for the same paths, modes, link targets and contents, whoever owns them, whenever they
 * were written and wherever the folder is. It is the SHA-256 of one record for each entry, folder by folder, in the order of the
 * bytes of their names: `<type> <mode> <path>\0<content>\0`. Types are `d`, `f`, `l` and `o` (all else); content is the SHA-256 of a
 * file, or the target of a link.
 */
export async function treeDigest(folder: string, stop?: AbortSignal): Promise<TreeDigest> {
  const sum = new Bun.CryptoHasher("sha256");
  let [files, bytes] = [0, 0];

  // Names are bytes: they need not be UTF-8.
  async function walk(below: Buffer): Promise<void> {
    const names = (await readdir(at(folder, below), { encoding: "buffer" })).toSorted(Buffer.compare);
    for (let next = 0; next < names.length; next += atOnce) {
      stop?.throwIfAborted();
      const paths = names.slice(next, next + atOnce).map((name) => Buffer.concat([below, slash, name]));
      const entries = await Promise.all(
        paths.map(async (path) => ({ path, ...(await entryOf(at(folder, path))) })),
      );
      for (const { path, type, mode, content, size } of entries) {
        sum.update(`${type} ${mode.toString(8)} `);
        sum.update(Buffer.concat([path.subarray(1), end, content, end]));
        if (type === "f") files += 1;
        bytes += size;
        if (type === "d") await walk(path);
      }
    }
  }

  await walk(Buffer.alloc(0));
  return { digest: sum.digest("hex"), files, bytes };
}

const slash = Buffer.from("/");
const end = Buffer.from("\0");
const at = (folder: string, path: Buffer) => Buffer.concat([Buffer.from(folder), path]);

interface Entry {
  type: "d" | "f" | "l" | "o";
  mode: number;
  content: Buffer;
  size: number;
}

async function entryOf(path: Buffer): Promise<Entry> {
  const stats = await lstat(path);
  const entry = { mode: stats.mode & modeMask, content: Buffer.alloc(0), size: 0 };
  if (stats.isDirectory()) return { ...entry, type: "d" };
  if (stats.isSymbolicLink())
    return { ...entry, type: "l", mode: 0, content: await readlink(path, { encoding: "buffer" }) };
  if (!stats.isFile()) return { ...entry, type: "o" };
  return { ...entry, type: "f", ...(await contentOf(path, stats)) };
}

async function contentOf(
  path: Buffer,
  { size: expected }: Stats,
): Promise<{ content: Buffer; size: number }> {
  const file = await open(path, openFlags);
  try {
    const sum = new Bun.CryptoHasher("sha256");
    const buffer = Buffer.allocUnsafe(Math.min(expected + 1, chunkBytes));
    let size = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, null);
      if (bytesRead === 0) return { content: Buffer.from(sum.digest("hex")), size };
      sum.update(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
  } finally {
    await file.close();
  }
}
