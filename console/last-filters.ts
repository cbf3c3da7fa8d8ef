import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import { given } from "./address.ts";
import { meQuery } from "./session.ts";

/**
 * The last filters of a list, kept in this browser for each user. They are applied once, if the list is opened by an
 * address without parameters; until then the list is not ready.
 */
export function useLastFilters(list: "activity") {
  const { data: me } = useQuery(meQuery);
  const key = `slipway-filters-${list}-${me?.username}`;
  const [search, setSearch] = useSearchParams();
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    if (isReady) return;
    const last = localStorage.getItem(key);
    if (search.size === 0 && last !== null) setSearch(new URLSearchParams(last), { replace: true });
    setReady(true);
  }, [isReady, key, search, setSearch]);
  const keep = (filters: Record<string, string>) => {
    const text = new URLSearchParams(given(filters) as Record<string, string>).toString();
    if (text === "") localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  };
  return { isReady, keep };
}
