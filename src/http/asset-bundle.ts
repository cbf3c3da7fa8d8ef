import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { StaticFile } from "./static-file.ts";

/** A file that the server sends to browsers. */
export interface Asset extends StaticFile {
  /** URL path: `/assets/main-1a2b3c4d.js`. */
  path: string;
}

/** Files that are made of sources once, and then kept in one file. */
export interface BundleKind {
  /** Name of the bundle inside a compiled executable; its first part names the folder of the cache. */
  name: string;
  /** Files and folders that it is made of, from the root of the repository. */
  sources: readonly string[];
  make(rootDir: string): Promise<Asset[]>;
}

/**
 * The files: cached by an earlier start from the same sources, or made now and cached. `rootDir` is that of the repository;
 * null: a compiled executable, which contains them.
 */
export async function loadBundle(kind: BundleKind, rootDir: string | null): Promise<Asset[]> {
  if (rootDir === null) {
    const embedded = Bun.embeddedFiles.find((file) => (file as Blob & { name: string }).name === kind.name);
    if (embedded === undefined) throw new Error(`This executable contains no ${kind.name}.`);
    return parseBundle(await embedded.text());
  }
  const folder = join(rootDir, ".cache", kind.name.replace(/\..*/, ""));
  const cacheFile = join(folder, `${await fingerprintOf(rootDir, kind.sources)}.bundle`);
  const cached = await readFile(cacheFile, "utf8").catch(() => null);
  if (cached !== null) return parseBundle(cached);
  const assets = await kind.make(rootDir);
  // A read-only installation works too, but makes them at each start.
  await writeBundle(cacheFile, assets)
    .then(() => deleteOthers(cacheFile))
    .catch(() => {});
  return assets;
}

const retryAfterMs = 5_000;

/** The files by their paths, loaded at the first call. A failure is tried again, but not for every request: making them is costly. */
export function loadedOnce(load: () => Promise<Asset[]>): () => Promise<Map<string, Asset>> {
  let loading: Promise<Map<string, Asset>> | null = null;
  return () => {
    if (loading) return loading;
    loading = load().then((list) => new Map(list.map((asset) => [asset.path, asset])));
    loading.catch(() => {
      setTimeout(() => {
        loading = null;
      }, retryAfterMs).unref();
    });
    return loading;
  };
}

/** Deletes bundles of earlier sources. Running servers have already read theirs completely. */
async function deleteOthers(cacheFile: string): Promise<void> {
  const folder = dirname(cacheFile);
  for (const name of await readdir(folder))
    if (name.endsWith(".bundle") && name !== basename(cacheFile))
      await rm(join(folder, name), { force: true });
}

export async function writeBundle(file: string, assets: Asset[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(unfinished, formatBundle(assets));
  await rename(unfinished, file);
}

type Written = Omit<Asset, "bodies"> & { bodies: Record<string, string> };

function formatBundle(assets: Asset[]): string {
  const written = assets.map(({ bodies, ...asset }): Written => {
    const entries = Object.entries(bodies).map(([encoding, body]) => [encoding, body.toBase64()]);
    return { ...asset, bodies: Object.fromEntries(entries) };
  });
  return JSON.stringify(written);
}

function parseBundle(text: string): Asset[] {
  return (JSON.parse(text) as Written[]).map(({ bodies, ...asset }) => {
    const entries = Object.entries(bodies).map(([encoding, body]) => [encoding, Uint8Array.fromBase64(body)]);
    return { ...asset, bodies: Object.fromEntries(entries) };
  });
}

/** Identifies the sources of a bundle by size and modification time, without reading them. */
async function fingerprintOf(rootDir: string, sources: readonly string[]): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const entry of sources) {
    const names = entry.includes(".") ? [""] : await readdir(join(rootDir, entry), { recursive: true });
    for (const name of names.sort()) {
      const found = await stat(join(rootDir, entry, name));
      if (found.isFile()) hash.update(`${entry}/${name} ${found.size} ${found.mtimeMs}\n`);
    }
  }
  return hash.digest("hex").slice(0, 32);
}
