import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, resolve } from "node:path";
import { Glob } from "bun";
import { version } from "../../package.json";
import { writeBundle } from "../../src/http/asset-bundle.ts";
import { manualBundle } from "../../src/http/manual/manual-bundle.ts";
import { plainOf } from "../../src/http/static-file.ts";

const root = resolve(import.meta.dir, "../..");
const assets = await manualBundle.make(root);
const textOf = new Map(assets.map((asset) => [asset.path, Buffer.from(plainOf(asset)).toString()]));
const pages = [...textOf].filter(([path]) => path.endsWith(".html"));

const idsOf = (html: string) => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));

test("every page of docs/ is a page of the manual and in its table of contents", () => {
  const [, index = ""] = pages.find(([path]) => path === "index.html") ?? [];
  const linked = new Set(
    pages
      .filter(([path]) => path === "index.html" || path.endsWith("/index.html"))
      .flatMap(([path, html]) => {
        const [, navigation = ""] = /<nav id="pages"([\s\S]*?)<\/nav>/.exec(html) ?? [];
        return [...navigation.matchAll(/href="([^"]+)"/g)].map(([, href = ""]) =>
          posix.join(posix.dirname(path), href),
        );
      }),
  );
  expect(index).toContain("Push gateway");
  // The Chinese page is linked from the header; the contents are what the table of contents is made of.
  const missing = pages.map(([path]) => path).filter((path) => !linked.has(path));
  expect(missing, "Name the page in a table of docs/README.md.").toEqual([
    "readme.zh-cn.html",
    "contents.html",
  ]);
  const inDocs = (readdirSync(join(root, "docs"), { recursive: true }) as string[]).filter((name) =>
    name.endsWith(".md"),
  );
  expect(pages.length).toBeGreaterThan(inDocs.length);
});

test("every link and image of every page leads to a file of the manual, and every anchor to a place of it", () => {
  const broken: string[] = [];
  for (const [path, html] of pages)
    for (const [, target = ""] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^https?:/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      const place = file === "" ? path : posix.join(posix.dirname(path), file);
      const found = textOf.get(place);
      if (found === undefined || (anchor && !idsOf(found).has(anchor))) broken.push(`${path}: ${target}`);
    }
  expect(broken).toEqual([]);
});

test("links of the console and of the API pages to the manual lead to a page and a heading", () => {
  const sources = ["console/**/*.tsx", "src/http/api/*.ts", "src/http/feign/**/*.ts"].flatMap((pattern) => [
    ...new Glob(pattern).scanSync(root),
  ]);
  const links = sources.flatMap((source) =>
    [...readFileSync(join(root, source), "utf8").matchAll(/"\/manual\/([^"]*)"/g)].map(
      ([, link = ""]) => link,
    ),
  );
  expect(links.length).toBeGreaterThan(4);
  for (const link of links) {
    const [path = "", anchor] = link.split("#");
    const html = textOf.get(path === "" ? "index.html" : path) ?? "";
    expect([link, html !== "" && (anchor === undefined || idsOf(html).has(anchor))]).toEqual([link, true]);
  }
});

test("no page loads anything from elsewhere, or has scripts or styles inside", () => {
  for (const [path, html] of pages) {
    const loaded = [...html.matchAll(/<(?:script|link|img)\b[^>]*(?:href|src)="(https?:[^"]*)"/g)];
    const inside = [...html.matchAll(/<script>|<style>| style="| on\w+="/g)];
    expect([path, loaded.map(([tag]) => tag), inside.map(([tag]) => tag)]).toEqual([path, [], []]);
  }
});

test("every page names the version and has one title and one first heading", () => {
  for (const [path, html] of pages) {
    expect([path, html.includes(`· Slipway ${version}</title>`)]).toEqual([path, true]);
    expect([path, html.match(/<h1 /g)?.length]).toEqual([path, 1]);
  }
});

test("headings go down one level at a time, and no image or header of a table is without text", () => {
  for (const [path, html] of pages) {
    const [article = ""] = /<article>[\s\S]*<\/article>/.exec(html) ?? [];
    const depths = [...article.matchAll(/<h(\d) id=/g)].map(([, depth]) => Number(depth));
    const jumps = depths.filter((depth, index) => depth > (depths[index - 1] ?? 0) + 1);
    const empty = [...article.matchAll(/<th[^>]*><\/th>|<img(?![^>]* alt="[^"])[^>]*>|<a [^>]*><\/a>/g)];
    expect([path, jumps, empty.map(([tag]) => tag)]).toEqual([path, [], []]);
  }
});

test("the search has each heading with its text, without markup", () => {
  const entries = JSON.parse(textOf.get("search.json") ?? "[]") as { id: string; text: string }[];
  const ids = entries.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain("push.html#one-off-codes");
  const settings = entries.find(({ id }) => id === "configuration.html#push");
  expect(settings?.text).toContain("push.max-connections-per-user");
  for (const { id, text } of entries)
    expect([id, /class="anchor"|&lt;|&quot;/.test(text)]).toEqual([id, false]);
});

test("the manual adds less than 2 MB to an executable, and is the same in every build", async () => {
  const folder = mkdtempSync(join(tmpdir(), "slipway-manual-"));
  await writeBundle(join(folder, "first"), assets);
  await writeBundle(join(folder, "second"), await manualBundle.make(root));
  const [first, second] = ["first", "second"].map((name) => readFileSync(join(folder, name)));
  rmSync(folder, { recursive: true });
  expect(first?.length).toBeLessThan(2_000_000);
  expect(first?.equals(second ?? Buffer.alloc(0))).toBe(true);
});
