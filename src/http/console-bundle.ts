import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Language, languages } from "../model/language.ts";
import type { Asset, BundleKind } from "./asset-bundle.ts";
import { compressFile } from "./static-file.ts";

/** The console's files. The page itself has the path `pagePath` of its language. */
export const consoleBundle: BundleKind = {
  name: "console.bundle",
  sources: [
    "client",
    "console",
    "package.json",
    "src/http/console-bundle.ts",
    "src/http/asset-bundle.ts",
    "src/http/static-file.ts",
  ],
  make: bundleConsole,
};

async function bundleConsole(rootDir: string): Promise<Asset[]> {
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

async function compress(path: string, contentType: string, content: Uint8Array): Promise<Asset> {
  return { path, ...(await compressFile(contentType, content, 10)) };
}
