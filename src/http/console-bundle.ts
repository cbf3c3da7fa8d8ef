import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Language, languages } from "../model/language.ts";
import { compressFile, type StaticFile } from "./static-file.ts";

/** One file of the console. */
export interface ConsoleAsset extends StaticFile {
  /** URL path: `/assets/main-1a2b3c4d.js`; the page itself: `pagePath` of its language. */
  path: string;
}

/** Name of the bundle inside a compiled executable. */
export const bundleName = "console.bundle";

/**
 * The console's files: embedded in a compiled executable, or cached by an earlier start from the same sources, or bundled
 * now and cached. `rootDir` contains console/, client/ and package.json; null: a compiled executable.
 */
export async function loadConsole(rootDir: string | null): Promise<ConsoleAsset[]> {
  if (rootDir === null) {
    const embedded = Bun.embeddedFiles.find((file) => (file as Blob & { name: string }).name === bundleName);
    if (embedded === undefined) throw new Error("This executable contains no console.");
    return parseBundle(await embedded.text());
  }
  const cacheFile = join(rootDir, ".cache/console", `${await fingerprintOf(rootDir)}.bundle`);
  const cached = await readFile(cacheFile, "utf8").catch(() => null);
  if (cached !== null) return parseBundle(cached);
  const assets = await bundleConsole(rootDir);
  // A read-only installation works too, but bundles at each start.
  await writeBundle(cacheFile, assets)
    .then(() => deleteOthers(cacheFile))
    .catch(() => {});
  return assets;
}

/** Deletes bundles of earlier sources. Running servers have already read theirs completely. */
async function deleteOthers(cacheFile: string): Promise<void> {
  const folder = dirname(cacheFile);
  for (const name of await readdir(folder))
    if (name.endsWith(".bundle") && name !== basename(cacheFile))
      await rm(join(folder, name), { force: true });
}

export async function writeBundle(file: string, assets: ConsoleAsset[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(unfinished, formatBundle(assets));
  await rename(unfinished, file);
}

export async function bundleConsole(rootDir: string): Promise<ConsoleAsset[]> {
  const folder = join(rootDir, "console");
  const common = {
    target: "browser",
    minify: true,
    publicPath: "/assets/",
    naming: { entry: "[name]-[hash].[ext]", chunk: "part-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
  } as const;
  const inFolder = (name: string) => join(folder, name);
  const built = await Promise.all([
    Bun.build({ ...common, entrypoints: [inFolder("main.tsx")], splitting: true }),
    // Classic scripts, which run before the first paint and cannot import.
    Bun.build({ ...common, entrypoints: languages.map(startOf).map(inFolder), format: "iife" }),
  ]);
  const files = await Promise.all(
    built
      .flatMap(({ outputs }) => outputs)
      .map(async (output) => ({
        name: output.path.replace(/^\.\//, ""),
        isChunk: output.kind === "chunk",
        contentType: output.type,
        content: new Uint8Array(await output.arrayBuffer()),
      })),
  );
  const icon = (await readFile(join(folder, "mark.svg"))).toString("base64");
  // The icon is part of the page: a request for a few hundred bytes costs more than they do.
  const template = (await readFile(join(folder, "index.html"), "utf8")).replace(
    'href="mark.svg"',
    `href="data:image/svg+xml;base64,${icon}"`,
  );
  return Promise.all([
    ...languages.map((language) =>
      compress(pagePath(language), "text/html;charset=utf-8", pageOf(template, language, files)),
    ),
    ...files.map((file) => compress(`/assets/${file.name}`, file.contentType, file.content)),
  ]);
}

interface BuiltFile {
  name: string;
  isChunk: boolean;
}

/** The script that installs the texts of a language. */
const startOf = (language: Language) => `start-${language.toLowerCase()}.ts`;

/** Name of the page in a language; the server chooses one for each request. */
export const pagePath = (language: Language) => `/${language}`;

/** The page in one language. Replaces `main.js`, `main.css` … in the page by the built files, whose names contain a hash. */
function pageOf(template: string, language: Language, files: BuiltFile[]): Uint8Array {
  const written = template
    .replace('<html lang="en">', `<html lang="${language}">`)
    .replace("start-en.js", startOf(language).replace(".ts", ".js"));
  const page = written.replaceAll(/(href|src)="([\w-]+)\.(js|css)"/g, (_, attribute, name, ending) => {
    const matches = (file: BuiltFile) =>
      !file.isChunk && file.name.startsWith(`${name}-`) && file.name.endsWith(`.${ending}`);
    const built = files.find(matches);
    if (!built) throw new Error(`The console's page asks for ${name}.${ending}, which the bundle lacks.`);
    return `${attribute}="/assets/${built.name}"`;
  });
  return new TextEncoder().encode(page);
}

async function compress(path: string, contentType: string, content: Uint8Array): Promise<ConsoleAsset> {
  return { path, ...(await compressFile(contentType, content)) };
}

function formatBundle(assets: ConsoleAsset[]): string {
  return JSON.stringify(
    assets.map((asset) => ({ ...asset, br: asset.br.toBase64(), gzip: asset.gzip.toBase64() })),
  );
}

function parseBundle(text: string): ConsoleAsset[] {
  const assets = JSON.parse(text) as (Omit<ConsoleAsset, "br" | "gzip"> & { br: string; gzip: string })[];
  return assets.map((asset) => ({
    ...asset,
    br: Uint8Array.fromBase64(asset.br),
    gzip: Uint8Array.fromBase64(asset.gzip),
  }));
}

/** Identifies the sources of the bundle by size and modification time, without reading them. */
async function fingerprintOf(rootDir: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const entry of ["client", "console", "package.json", "src/http/console-bundle.ts"]) {
    const names = entry.includes(".") ? [""] : await readdir(join(rootDir, entry), { recursive: true });
    for (const name of names.sort()) {
      const found = await stat(join(rootDir, entry, name));
      if (found.isFile()) hash.update(`${entry}/${name} ${found.size} ${found.mtimeMs}\n`);
    }
  }
  return hash.digest("hex").slice(0, 32);
}
