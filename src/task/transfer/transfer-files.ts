import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { S3Client } from "bun";
import { replaceFile } from "../../whole-file.ts";

/** Where the parts of transfers are kept. A part that is put again is replaced. */
export interface TransferFiles {
  put(id: string, part: number, bytes: Uint8Array): Promise<void>;
  /** Null: there is none. */
  get(id: string, part: number): Promise<Uint8Array<ArrayBuffer> | null>;
  remove(id: string, parts: number): Promise<void>;
  /**
   * Of those that nothing knows any more, such as after a restore of the database. What is known is read after what is there:
   * another server may begin a transfer meanwhile.
   */
  removeOthers(known: () => Promise<ReadonlySet<string>>): Promise<void>;
}

/** A folder of the server. Several servers of one database need a folder that they share, or an S3 store. */
export function transferFolder(root: string): TransferFiles {
  return {
    async put(id, part, bytes) {
      mkdirSync(join(root, id), { recursive: true, mode: 0o700 });
      replaceFile(join(root, id, String(part)), bytes);
    },
    async get(id, part) {
      try {
        return await readFile(join(root, id, String(part)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
        throw error;
      }
    },
    async remove(id) {
      rmSync(join(root, id), { recursive: true, force: true });
    },
    async removeOthers(known) {
      const names = namesIn(root);
      const stay = await known();
      for (const id of names) if (!stay.has(id)) rmSync(join(root, id), { recursive: true, force: true });
    },
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export interface S3Settings {
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Before the names of all objects. */
  prefix: string;
}

export function transferBucket({ prefix, ...settings }: S3Settings): TransferFiles {
  const client = new S3Client(settings);
  const keyOf = (id: string, part: number) => `${prefix}${id}/${part}`;
  return {
    async put(id, part, bytes) {
      await client.write(keyOf(id, part), bytes as Uint8Array<ArrayBuffer>);
    },
    async get(id, part) {
      try {
        return await client.file(keyOf(id, part)).bytes();
      } catch (error) {
        if ((error as { code?: string }).code === "NoSuchKey") return null;
        throw error;
      }
    },
    async remove(id, parts) {
      for (let part = 0; part < parts; part++) await client.delete(keyOf(id, part));
    },
    async removeOthers(known) {
      let after: string | undefined;
      do {
        const page = await client.list({ prefix, ...(after === undefined ? {} : { startAfter: after }) });
        const keys = (page.contents ?? []).map(({ key }) => key);
        const stay = await known();
        for (const key of keys)
          if (!stay.has(key.slice(prefix.length).split("/")[0] ?? "")) await client.delete(key);
        after = page.isTruncated ? keys.at(-1) : undefined;
      } while (after !== undefined);
    },
  };
}
