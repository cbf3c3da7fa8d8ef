import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { queryClient } from "./api.ts";
import { type Me, meQuery } from "./session.ts";

export interface Recent {
  href: string;
  /** Of a project its own, of a task or delivery that of its project; empty for a page of the navigation. */
  name: string;
}

const kept = 8;

function keyOf(username: string): string {
  return `slipway-recent-${username}`;
}

/** What the user opened last in this browser, the newest first. */
export function recentOf(username: string): Recent[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(username)) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isRecent) : [];
  } catch {
    return [];
  }
}

/** The name of a project that was opened before, for its page while that loads. */
export function knownProjectName(id: number): string | undefined {
  const me = queryClient.getQueryData<Me>(meQuery.queryKey);
  if (me === undefined) return undefined;
  return recentOf(me.username).find(({ href }) => href === `/projects/${id}`)?.name;
}

function isRecent(value: unknown): value is Recent {
  if (typeof value !== "object" || value === null || !("href" in value) || !("name" in value)) return false;
  return typeof value.href === "string" && typeof value.name === "string";
}

/** Notes that this was opened. Null: nothing to note yet. */
export function useRecent(href: string | null, name = ""): void {
  const { data: me } = useQuery(meQuery);
  const username = me?.username;
  useEffect(() => {
    if (href === null || username === undefined) return;
    const others = recentOf(username).filter((each) => each.href !== href);
    localStorage.setItem(keyOf(username), JSON.stringify([{ href, name }, ...others].slice(0, kept)));
  }, [href, name, username]);
}
