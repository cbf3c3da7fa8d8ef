import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { version } from "../../version.ts";
import type { Asset, BundleKind } from "../asset-bundle.ts";
import { plainFile, zipFile } from "../static-file.ts";
import { type LayoutParts, layOut } from "./layout.ts";
import { navigationOf } from "./navigation.ts";
import { manualSources, readSite, type SitePage } from "./site.ts";

/** The files of the manual; their paths begin below `/manual/`. */
export const manualBundle: BundleKind = {
  name: "manual.bundle",
  sources: [
    ...manualSources,
    "manual",
    "console/mark.svg",
    "package.json",
    "src/http/manual",
    "src/http/asset-bundle.ts",
    "src/http/static-file.ts",
  ],
  make: buildManual,
};

async function buildManual(rootDir: string): Promise<Asset[]> {
  const [site, built] = await Promise.all([readSite(rootDir), buildBrowserFiles(rootDir)]);
  const parts: LayoutParts = { navigation: navigationOf(site), version, built: built.names };
  const assets: Asset[] = [...built.assets];
  const add = async (path: string, contentType: string, content: Uint8Array) => {
    const isCompressed = contentType === "image/png";
    const file = isCompressed ? plainFile(contentType, content) : await zipFile(contentType, content);
    assets.push({ path, ...file });
  };
  for (const page of site.pages) await add(page.path, "text/html;charset=utf-8", encode(layOut(page, parts)));
  for (const [path, source] of site.files)
    await add(path, contentTypeOf(path), await readFile(join(rootDir, source)));
  await add("search.json", "application/json", encode(JSON.stringify(site.pages.flatMap(searchEntries))));
  return assets;
}

/** One entry of the search: a heading and the text below it. */
export interface SearchEntry {
  id: string;
  page: string;
  heading: string;
  text: string;
}

function searchEntries({ path, title, sections }: SitePage): SearchEntry[] {
  return sections.map(({ heading, text }) => ({
    id: heading.depth === 1 ? path : `${path}#${heading.anchor}`,
    page: title,
    heading: heading.text,
    text,
  }));
}

/** The script and the style of the pages; a hash in their names lets browsers keep them. */
async function buildBrowserFiles(rootDir: string) {
  const folder = join(rootDir, "manual");
  const { outputs } = await Bun.build({
    entrypoints: ["page.ts", "scheme.ts", "style.css"].map((name) => join(folder, name)),
    target: "browser",
    format: "iife",
    minify: true,
    naming: "[name]-[hash].[ext]",
  });
  const icon = await readFile(join(rootDir, "console/mark.svg"));
  const files = await Promise.all(
    outputs.map(async (output) => ({
      path: output.path.replace(/^\.\//, ""),
      contentType: output.type,
      content: new Uint8Array(await output.arrayBuffer()),
    })),
  );
  files.push({ path: "mark.svg", contentType: "image/svg+xml", content: new Uint8Array(icon) });
  const assets = await Promise.all(
    files.map(async ({ path, contentType, content }) => ({
      path,
      ...(await zipFile(contentType, content)),
    })),
  );
  const named = (start: string) => files.find(({ path }) => path.startsWith(start))?.path ?? "";
  const names = {
    script: named("page-"),
    scheme: named("scheme-"),
    style: named("style-"),
    icon: "mark.svg",
  };
  return { assets, names };
}

/** Sources and configurations are shown, not run. */
function contentTypeOf(path: string): string {
  if (path.endsWith(".svg")) return "image/svg+xml";
  if (path.endsWith(".png")) return "image/png";
  return path.endsWith(".json") ? "application/json" : "text/plain;charset=utf-8";
}

const encode = (text: string) => new TextEncoder().encode(text);
