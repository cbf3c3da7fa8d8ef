import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import { createGunzip, createGzip } from "node:zlib";
import { Fault, messageOf } from "../../errors.ts";
import { randomToken } from "../../secrets.ts";
import type { BackupTable } from "../query/backup-tables.ts";
import type { StoredRow } from "../query/row.ts";

/**
 * A backup is one gzip file of JSON lines: a header, batches of rows table by table, and an end line with their count,
 * which shows whether the file is complete. Both databases store the same rows, so a backup of one can be restored into
 * the other.
 */
export interface BackupHeader {
  format: "slipway backup";
  version: 1;
  createdAt: string;
  /** The last migration of the database it was taken from. */
  schema: string;
  /** Text of the key file; null when the key is a setting. */
  key: string | null;
}

export interface BackupBatch {
  table: BackupTable;
  rows: StoredRow[];
}

type BackupLine = BackupHeader | BackupBatch | { end: true; rows: number };

export interface BackupWriter {
  write(line: BackupLine): Promise<void>;
  /** Moves the complete file, already on disk, to its final name. */
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/**
 * Only its owner may read the file, because it contains the key. It is written to a new file with an unpredictable name and
 * renamed when complete, so that an existing file or link is never written to.
 */
export async function createBackupFile(path: string): Promise<BackupWriter> {
  await refuseOtherThanFile(path);
  const partial = `${path}.${randomToken(6, "hex")}.partial`;
  const unwritable = (code: "invalid" | "conflict", cause: unknown) =>
    new Fault(code, `The backup ${path} cannot be written: ${messageOf(cause)}`, { cause });
  const handle = await open(partial, "wx", 0o600).catch((cause: unknown) => {
    throw unwritable("invalid", cause);
  });
  const gzip = createGzip({ level: 6 });
  const file = createWriteStream(partial, { fd: handle.fd, autoClose: false });
  gzip.pipe(file);
  const failure = new Promise<never>((_, reject) => {
    for (const stream of [gzip, file]) stream.once("error", (cause) => reject(unwritable("conflict", cause)));
  });
  failure.catch(() => {});
  return {
    async write(line) {
      if (!gzip.write(`${JSON.stringify(line)}\n`)) await Promise.race([once(gzip, "drain"), failure]);
    },
    async finish() {
      const written = once(file, "finish");
      gzip.end();
      await Promise.race([written, failure]);
      await handle.sync();
      await handle.close();
      await rename(partial, path);
    },
    async abandon() {
      gzip.destroy();
      file.destroy();
      // `finish` has closed it already.
      await handle.close().catch(() => {});
      await rm(partial, { force: true });
    },
  };
}

/** The backup replaces a file of the same name; for root that could be a device such as /dev/stdout. */
async function refuseOtherThanFile(path: string): Promise<void> {
  const there = await stat(path).catch(() => null);
  if (there === null || there.isFile()) return;
  const problem = there.isDirectory() ? "it is a folder; name a file in it" : "it is not a regular file";
  throw new Fault("invalid", `The backup ${path} cannot be written: ${problem}.`);
}

/** Reads the lines of a backup; throws if the file is not a backup or is incomplete. */
export async function* readBackupFile(path: string): AsyncGenerator<BackupHeader | BackupBatch> {
  let rows = 0;
  let isWhole = false;
  for await (const line of linesOf(path)) {
    if ("end" in line) isWhole = line.rows === rows;
    else {
      if ("rows" in line) rows += line.rows.length;
      yield line;
    }
  }
  if (!isWhole) throw new Fault("invalid", `The backup ${path} is cut off: it does not hold all rows.`);
}

async function* linesOf(path: string): AsyncGenerator<BackupLine> {
  const source = createReadStream(path);
  const gunzip = createGunzip();
  source.once("error", (error) => gunzip.destroy(error));
  try {
    for await (const line of createInterface({
      input: source.pipe(gunzip),
      crlfDelay: Number.POSITIVE_INFINITY,
    }))
      yield JSON.parse(line) as BackupLine;
  } catch (error) {
    throw new Fault("invalid", `The backup ${path} cannot be read: ${messageOf(error)}`, { cause: error });
  } finally {
    source.destroy();
  }
}
