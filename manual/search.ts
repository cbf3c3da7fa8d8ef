import MiniSearch, { type SearchResult } from "minisearch";
import type { SearchEntry } from "../src/http/manual/manual-bundle.ts";
import { root } from "./root.ts";

const maxResults = 12;
const words = new Intl.Segmenter("zh", { granularity: "word" });

/** Words as the library finds them; Chinese is written without spaces, so it is cut by the browser. */
function tokenize(text: string): string[] {
  return text
    .split(/[\s\p{P}\p{S}]+/u)
    .flatMap((word) =>
      /\p{Script=Han}/u.test(word) ? [...words.segment(word)].map(({ segment }) => segment) : [word],
    )
    .filter((word) => word !== "");
}

async function loadIndex(): Promise<MiniSearch<SearchEntry>> {
  const response = await fetch(new URL("search.json", root));
  const index = new MiniSearch<SearchEntry>({
    fields: ["heading", "page", "text"],
    storeFields: ["heading", "page", "text"],
    tokenize,
    searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.2, combineWith: "AND" },
  });
  index.addAll((await response.json()) as SearchEntry[]);
  return index;
}

export function setUpSearch(): void {
  const form = document.querySelector<HTMLFormElement>(".search");
  const input = form?.querySelector("input");
  const list = document.querySelector<HTMLElement>("#results");
  if (!form || !input || !list) return;
  form.hidden = false;
  let loading: Promise<MiniSearch<SearchEntry>> | null = null;
  const index = () => {
    loading ??= loadIndex();
    return loading;
  };
  const close = () => {
    list.hidden = true;
  };
  const show = async () => {
    const query = input.value.trim();
    if (query === "") return close();
    const found = (await index()).search(query).slice(0, maxResults);
    // The text may have changed while the index was loading.
    if (query !== input.value.trim()) return;
    list.replaceChildren(...(found.length === 0 ? [nothing(query)] : found.map(resultLink)));
    list.hidden = false;
  };
  const links = () => [...list.querySelectorAll("a")];
  input.addEventListener("focus", () => void index());
  input.addEventListener("input", () => void show());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await show();
    links()[0]?.click();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      close();
      input.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || list.hidden) return;
    event.preventDefault();
    const stops = [input, ...links()];
    const at = stops.indexOf(document.activeElement as HTMLInputElement);
    stops[(at + step + stops.length) % stops.length]?.focus();
  });
  form.addEventListener("focusout", (event) => {
    if (!form.contains(event.relatedTarget as Node | null)) close();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if ((event.key === "/" && !isTyping) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      input.focus();
    }
  });
}

function nothing(query: string): HTMLElement {
  const text = document.createElement("p");
  text.textContent = `Nothing found for “${query}”.`;
  return text;
}

function resultLink(result: SearchResult): HTMLElement {
  const { id, heading, page, text } = result as unknown as SearchEntry;
  const link = document.createElement("a");
  link.href = new URL(id, root).href;
  const title = document.createElement("strong");
  title.textContent = heading === page ? page : `${page} › ${heading}`;
  const excerpt = document.createElement("span");
  excerpt.textContent = excerptOf(text, result.terms);
  link.append(title, excerpt);
  return link;
}

/** The text around the first word that was found. */
function excerptOf(text: string, terms: string[]): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place > 40);
  if (places.length === 0) return text.slice(0, 130);
  const start = text.indexOf(" ", Math.min(...places) - 40) + 1;
  return `… ${text.slice(start, start + 130)}`;
}
