import type { ProviderName } from "../../../src/git-host/hosts.ts";
import { isHostKind, tokenPathOf, webhookPathOf } from "../../git-hosts.ts";

interface Place {
  /** The web address of the server. */
  origin: string;
  /** `owner/name`, without `.git`. */
  path: string;
}

export function isSshUrl(url: string): boolean {
  return /^ssh:|^[\w.-]+@[\w.-]+:/i.test(url);
}

/** A repository on the machine of the server: its hook reaches the server there. */
export function isLocalUrl(url: string): boolean {
  return /^(?:\/|file:)/i.test(url.trim());
}

/** The host and the repository in a clone URL. Null: a local repository. */
function placeOf(cloneUrl: string): Place | null {
  const url = cloneUrl.trim();
  const ssh = /^(?:ssh:\/\/(?:[^@/]*@)?([^:/]+)(?::\d+)?\/|[\w.-]+@([\w.-]+):)(.+)$/i.exec(url);
  if (ssh !== null) return { origin: `https://${ssh[1] ?? ssh[2]}`, path: pathOf(ssh[3] ?? "") };
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return null;
  const { origin, pathname } = new URL(url);
  return { origin, path: pathOf(pathname) };
}

function pathOf(text: string): string {
  return text.replace(/^\/+|\/+$|\.git\/*$/g, "");
}

/** The web address of the server in a clone URL; empty: none. */
export function originOf(cloneUrl: string): string {
  return placeOf(cloneUrl)?.origin ?? "";
}

/** `owner/name` in a clone URL; empty: a local repository, or one whose path the server reads differently. */
export function repositoryPathOf(cloneUrl: string): string {
  const path = placeOf(cloneUrl)?.path ?? "";
  return path.includes("%") ? "" : path;
}

/** Where the host creates an access token, with its form filled in as far as the host allows. Null: unknown. */
export function tokenPageOf(
  provider: string | null,
  cloneUrl: string,
  use: "read" | "manage",
): string | null {
  const origin = originOf(cloneUrl);
  return origin === "" || !isHostKind(provider) ? null : `${origin}/${tokenPathOf(provider, use)}`;
}

/** Where the repository's webhooks are at the host. Null: unknown. */
export function webhookPageOf(provider: ProviderName, cloneUrl: string): string | null {
  const [place, page] = [placeOf(cloneUrl), webhookPathOf(provider)];
  return place === null || page === null ? null : `${place.origin}/${place.path}/${page}`;
}
