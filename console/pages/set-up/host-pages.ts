import type { HostKind, ProviderName } from "../../../src/git-host/hosts.ts";

interface Place {
  /** The web address of the server. */
  origin: string;
  /** `owner/name`, without `.git`. */
  path: string;
}

export function isSshUrl(url: string): boolean {
  return /^ssh:|^[\w.-]+@[\w.-]+:/i.test(url);
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
  const pages: Record<HostKind, string> = {
    github: "settings/tokens/new?description=Slipway&scopes=repo",
    gitlab: `-/user_settings/personal_access_tokens?name=Slipway&scopes=${use === "read" ? "read_repository" : "api"}`,
    gitea: "user/settings/applications",
    gitee: "profile/personal_access_tokens/new",
  };
  return origin === "" || !isHostKind(provider) ? null : `${origin}/${pages[provider]}`;
}

/** Where the repository's webhooks are at the host. Null: unknown. */
export function webhookPageOf(provider: ProviderName, cloneUrl: string): string | null {
  const pages: Partial<Record<ProviderName, string>> = {
    github: "settings/hooks/new",
    gitlab: "-/hooks",
    gitea: "settings/hooks/gitea/new",
    gogs: "settings/hooks/gogs/new",
    gitee: "hooks",
    bitbucket: "admin/webhooks",
  };
  const [place, page] = [placeOf(cloneUrl), pages[provider]];
  return place === null || page === undefined ? null : `${place.origin}/${place.path}/${page}`;
}

/** Hosts at which Slipway can create a webhook. */
export function isHostKind(provider: string | null): provider is HostKind {
  return provider !== null && ["github", "gitlab", "gitea", "gitee"].includes(provider);
}
