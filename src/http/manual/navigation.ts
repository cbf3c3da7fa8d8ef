import { posix } from "node:path";
import type { Site, SitePage } from "./site.ts";

export interface NavigationGroup {
  title: string;
  entries: NavigationEntry[];
}

export interface NavigationEntry {
  page: SitePage;
  /** The other pages of its folder. */
  below: SitePage[];
}

/** The table of contents: the sections of docs/README.md, with the pages that their tables name first in a row. */
export function navigationOf(site: Site): NavigationGroup[] {
  const contents = site.pages.find(({ source }) => source === "docs/README.md");
  const [, ...parts] = contents?.html.split("<h2 ") ?? [];
  return parts.map((part) => {
    const paths = [...part.matchAll(/<tr><td><a href="([^"#]+)"/g)].map(([, path = ""]) => path);
    return {
      title: contents?.headings.find(({ anchor }) => part.startsWith(`id="${anchor}"`))?.text ?? "",
      entries: paths.flatMap((path) => entryOf(site, path)),
    };
  });
}

function entryOf(site: Site, path: string): NavigationEntry[] {
  const page = site.pages.find((each) => each.path === path);
  if (!page) return [];
  const folder = posix.dirname(path);
  const isIndex = path.endsWith("/index.html");
  const below = site.pages.filter((each) => isIndex && each !== page && posix.dirname(each.path) === folder);
  return [{ page, below }];
}

/** All pages in the order of reading. */
export function readingOrder(groups: NavigationGroup[]): SitePage[] {
  return groups.flatMap(({ entries }) => entries.flatMap(({ page, below }) => [page, ...below]));
}
