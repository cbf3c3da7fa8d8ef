import { Marked, type Tokens } from "marked";

export interface Heading {
  depth: number;
  /** HTML: headings contain code. */
  html: string;
  text: string;
  anchor: string;
}

/** The text from one heading to the next, for the search. */
export interface Section {
  heading: Heading;
  text: string;
}

export interface RenderedPage {
  title: string;
  html: string;
  headings: Heading[];
  sections: Section[];
}

/** Where links of the page lead on the site. */
export interface Links {
  /** Null: nowhere, only the text of the link is shown. */
  targetOf(href: string): string | null;
  /** The title of a page, for links whose text is the name of its file; null: another file. */
  titleOf(href: string): string | null;
}

const isFileName = /^[\w./-]+(\.md|\/)$/;

export function renderMarkdown(markdown: string, links: Links): RenderedPage {
  const anchors = new Map<string, number>();
  const headings: Heading[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const text = plainText(html);
        const heading = {
          depth,
          html: html.replaceAll(/<\/?a\b[^>]*>/g, ""),
          text,
          anchor: anchorOf(text, anchors),
        };
        headings.push(heading);
        const link =
          depth === 1
            ? ""
            : ` <a class="anchor" href="#${heading.anchor}" aria-hidden="true" tabindex="-1">#</a>`;
        return `<h${depth} id="${heading.anchor}">${html}${link}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const target = links.targetOf(href);
        const written = this.parser.parseInline(tokens);
        const title = isFileName.test(written) ? links.titleOf(href) : null;
        const html = title === null ? written : escapeHtml(title);
        return target === null ? html : `<a href="${escapeHtml(target)}">${html}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escapeHtml(links.targetOf(href) ?? "")}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      code({ text, lang }: Tokens.Code) {
        return `<pre data-language="${escapeHtml(lang?.split(" ")[0] ?? "")}"><code>${escapeHtml(text)}\n</code></pre>\n`;
      },
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], tag: string) =>
          row
            .map(({ text, tokens, align }) => {
              // A header without text would be announced as one.
              const name = text === "" ? "td" : tag;
              const style = align ? ` class="${align}"` : "";
              return `<${name}${style}>${this.parser.parseInline(tokens)}</${name}>`;
            })
            .join("");
        const isNamed = header.some(({ text }) => text !== "");
        const head = isNamed ? `<thead><tr>${cells(header, "th")}</tr></thead>` : "";
        const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="scroll"><table>${head}<tbody>\n${body}\n</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  const sections = html
    .split(/(?=<h[123] id=)/)
    .filter((part) => part.startsWith("<h"))
    .map((part, index): Section | null => {
      const heading = headings.filter(({ depth }) => depth <= 3)[index];
      return heading ? { heading, text: plainText(part.replace(/^<h[\s\S]*?<\/h\d>/, "")) } : null;
    })
    .filter((section) => section !== null);
  return { title: headings[0]?.text ?? "", html, headings, sections };
}

/** The anchor that Git hosts give to a heading, so that links of the repository work here too. */
function anchorOf(text: string, used: Map<string, number>): string {
  const anchor = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
  const count = used.get(anchor) ?? 0;
  used.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

const entities: Record<string, string> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

function plainText(html: string): string {
  return html
    .replaceAll(/<a class="anchor"[\s\S]*?<\/a>/g, "")
    .replaceAll(/<!--[\s\S]*?-->|<\/?(?:a|code|strong|em|del)\b[^>]*>/g, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .replaceAll(/\s+/g, " ")
    .trim();
}

export function escapeHtml(text: string): string {
  return Bun.escapeHTML(text);
}
