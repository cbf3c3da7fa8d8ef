import { useCallback, useRef } from "react";
import { useSearchParams } from "wouter";

/** Filters that live in the address bar, so that a list can be linked, reloaded and gone back to. */
export function useAddressFilters<const Name extends string>(
  names: readonly Name[],
): [Record<Name, string>, (change: Partial<Record<Name, string>>) => void] {
  const [search, setSearch] = useSearchParams();
  const filters = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ""])) as Record<
    Name,
    string
  >;
  const change = (values: Partial<Record<Name, string>>) =>
    setSearch((before) => {
      before.delete("page");
      for (const name of names) {
        const value = values[name];
        if (value === undefined) continue;
        if (value === "") before.delete(name);
        else before.set(name, value);
      }
      return before;
    });
  return [filters, change];
}

/** The id in an address; null if the API would refuse it. */
export function idOf(text: string): number | null {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

/** The API refuses greater numbers. */
const maxPage = 1_000_000;

/** Number of the page that a list shows. */
export function usePageNumber(): number {
  const [search] = useSearchParams();
  return pageIn(search);
}

export function pageIn(search: URLSearchParams): number {
  const page = Number(search.get("page") ?? "1");
  return Number.isInteger(page) && page > 0 ? Math.min(page, maxPage) : 1;
}

/** Replaces the page of the address, without a step in the history. */
export function useShowPage(): (page: number) => void {
  const [, setSearch] = useSearchParams();
  const latest = useRef(setSearch);
  latest.current = setSearch;
  return useCallback((page) => {
    latest.current(
      (search) => {
        search.set("page", String(page));
        return search;
      },
      { replace: true },
    );
  }, []);
}

export function useTurnPage(): (page: number) => void {
  const [, setSearch] = useSearchParams();
  return (page) =>
    setSearch((search) => {
      search.set("page", String(page));
      return search;
    });
}

/** Only what is set: the API refuses empty filters. */
export function given<T extends Record<string, string>>(filters: T): Partial<T> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== "")) as Partial<T>;
}
