import { posix } from "node:path";
import { escapeHtml, type Heading } from "./markdown.ts";
import { type NavigationGroup, readingOrder } from "./navigation.ts";
import type { SitePage } from "./site.ts";

export interface LayoutParts {
  navigation: NavigationGroup[];
  version: string;
  /** The built files of manual/, by their names there. */
  built: { script: string; scheme: string; style: string; icon: string };
}

export function layOut(page: SitePage, { navigation, version, built }: LayoutParts): string {
  const to = (path: string) => posix.relative(posix.dirname(page.path), path) || posix.basename(path);
  const link = (other: SitePage, text = escapeHtml(shortTitle(other))) =>
    `<a href="${to(other.path)}"${other === page ? ' aria-current="page"' : ""}>${text}</a>`;
  const groups = navigation.map(({ title, entries }) => {
    const items = entries.map(({ page: entry, below }) => {
      const isOpen = page === entry || below.includes(page);
      const inner =
        isOpen && below.length > 0
          ? `<ul>${below.map((each) => `<li>${link(each)}</li>`).join("")}</ul>`
          : "";
      return `<li>${link(entry)}${inner}</li>`;
    });
    return `<h2>${escapeHtml(title)}</h2><ul>${items.join("")}</ul>`;
  });
  const order = readingOrder(navigation);
  const place = order.indexOf(page);
  const neighbour = (other: SitePage | undefined, name: string, side: string) =>
    other
      ? `<a class="${side}" href="${to(other.path)}"><span>${name}</span>${escapeHtml(shortTitle(other))}</a>`
      : "";
  const before = place < 0 ? undefined : order[place - 1];
  const after = place < 0 ? undefined : order[place + 1];
  const isChinese = page.path.endsWith("zh-cn.html");
  const root = to("index.html").replace(/index\.html$/, "") || "./";
  const title = page.path === "index.html" ? "Manual" : escapeHtml(page.title);
  return `<!doctype html>
<html lang="${isChinese ? "zh-CN" : "en"}" data-root="${root}" data-version="${escapeHtml(version)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Slipway ${escapeHtml(version)}</title>
<link rel="icon" type="image/svg+xml" href="${to(built.icon)}">
<link rel="stylesheet" href="${to(built.style)}">
<script src="${to(built.scheme)}"></script>
<script src="${to(built.script)}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
<button class="menu" type="button" aria-expanded="false" aria-controls="pages" aria-label="Pages"><span></span></button>
<a class="brand" href="${to("index.html")}" aria-label="Slipway manual"><img src="${to(built.icon)}" alt="" width="28" height="28"><span>Slipway</span> <small>manual</small></a>
<a class="version" href="${to("project/changelog.html")}" aria-label="Version ${escapeHtml(version)}: changes">${escapeHtml(version)}</a>
<search><form class="search" hidden><input type="search" placeholder="Search" aria-label="Search the manual" autocomplete="off" spellcheck="false" aria-controls="results" aria-keyshortcuts="/ Control+K"><kbd aria-hidden="true">/</kbd>
<div id="results" class="results" hidden></div></form></search>
<a class="language" href="${to(isChinese ? "index.html" : "readme.zh-cn.html")}" lang="${isChinese ? "en" : "zh-CN"}">${isChinese ? "English" : "中文"}</a>
</header>
<div class="frame">
<nav id="pages" class="pages" aria-label="Pages">${groups.join("")}</nav>
<main id="main" tabindex="-1"><article>
${page.html}</article>
<footer>${neighbour(before, "Previous", "previous")}${neighbour(after, "Next", "next")}</footer></main>
${outline(page.headings)}</div>
</body>
</html>
`;
}

/** For lists: without what follows a colon. */
function shortTitle({ title, path }: SitePage): string {
  return path === "index.html" ? "Overview" : title.replace(/: .*/, "");
}

function outline(headings: Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2);
  if (shown.length < 2) return "";
  const items = shown.map(({ anchor, html }) => `<li><a href="#${anchor}">${html}</a></li>`);
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></nav>\n`;
}
