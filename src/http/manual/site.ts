import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { Glob } from "bun";
import { type RenderedPage, renderMarkdown } from "./markdown.ts";

/** A page of the manual. */
export interface SitePage extends RenderedPage {
  /** Its Markdown file, from the root of the repository. */
  source: string;
  /** Its place on the site: `hosts/github.html`. */
  path: string;
}

export interface Site {
  pages: SitePage[];
  /** Other files that pages link to, by their place on the site: images, configurations, examples. */
  files: Map<string, string>;
}

/** What the manual is made of. Pages are the Markdown files among them. */
export const manualSources = [
  "README.md",
  "README.zh-CN.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "docs",
  "client/README.md",
  "clients/java/README.md",
  "clients/python/README.md",
  "clients/conformance",
  "examples/README.md",
  "deploy",
];

/** Renders one page after the other, so that a server can answer other requests meanwhile. */
export async function readSite(rootDir: string): Promise<Site> {
  const files = new Map<string, string>();
  const pages: SitePage[] = [];
  const texts = new Map<string, string>();
  for (const source of sourcesOf(rootDir)) texts.set(source, await readFile(join(rootDir, source), "utf8"));
  for (const [source, markdown] of texts) {
    const path = pathOf(source);
    const fileOf = (href: string) =>
      resolve(rootDir, posix.join(posix.dirname(source), href.replace(/#.*/, "")));
    const rendered = renderMarkdown(markdown, {
      targetOf(href) {
        if (/^[a-z]+:/.test(href) || href.startsWith("#")) return href;
        const file = fileOf(href);
        if (file === null) return null;
        if (!texts.has(file)) files.set(pathOf(file), file);
        const [, anchor = ""] = /(#.*)/.exec(href) ?? [];
        return posix.relative(posix.dirname(path), pathOf(file)) + anchor;
      },
      titleOf: (href) => /^# (.*)/.exec(texts.get(fileOf(href) ?? "") ?? "")?.[1] ?? null,
    });
    pages.push({ ...rendered, source, path });
    await Bun.sleep(0);
  }
  return { pages, files };
}

function sourcesOf(rootDir: string): string[] {
  const folders = manualSources.filter((entry) => !entry.includes("."));
  const inFolders = folders.flatMap((folder) =>
    [...new Glob("**/*.md").scanSync(join(rootDir, folder))].map((name) => `${folder}/${name}`),
  );
  return [...manualSources.filter((entry) => entry.endsWith(".md")), ...inFolders.sort()];
}

/** A link to a folder means its README. An installation may lack files that only the repository has. */
function resolve(rootDir: string, target: string): string | null {
  const isFolder = statSync(join(rootDir, target), { throwIfNoEntry: false })?.isDirectory() ?? false;
  const file = isFolder ? posix.join(target, "README.md") : target;
  return existsSync(join(rootDir, file)) ? file : null;
}

/** `docs/` is the top of the site: `docs/hosts/README.md` becomes `hosts/index.html`. */
function pathOf(source: string): string {
  if (source === "docs/README.md") return "contents.html";
  if (/^(CHANGELOG|CONTRIBUTING|SECURITY)\.md$/.test(source)) return pathOf(`project/${source}`);
  const inSite = source.replace(/^docs\//, "");
  if (!inSite.endsWith(".md")) return inSite;
  return inSite
    .replace(/(^|\/)README\.md$/, "$1index.md")
    .replace(/\.md$/, ".html")
    .toLowerCase();
}
