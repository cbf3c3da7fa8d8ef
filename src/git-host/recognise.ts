import { gitAddressOf } from "../model/git/git-url.ts";
import type { RepositoryPlace } from "../model/git/repository-place.ts";
import type { GitHost, TokenPlace } from "./git-host.ts";
import { gitHostOf, gitHosts, type ProviderName, providerNames } from "./hosts.ts";
import type { HostPages } from "./pages.ts";
import type { StatusApi } from "./status/status-api.ts";

/** The host whose public service has this name; null: none. */
export function publicHostAt(hostname: string): ProviderName | null {
  return providerNames.find((name) => gitHostOf(name).servers?.includes(hostname)) ?? null;
}

/** The host in a clone URL: a public service, or a server whose name tells; null: unknown. */
export function recognisedHost(url: string): ProviderName | null {
  const hostname = gitAddressOf(url)?.host;
  if (hostname === undefined) return null;
  const words = hostname.split(/[.-]/);
  const isNamed = (name: ProviderName) => gitHostOf(name).serverWords?.some((word) => words.includes(word));
  return publicHostAt(hostname) ?? providerNames.find(isNamed) ?? null;
}

/** The host of a repository: a public service is known by its name, another server by the provider of the webhook. */
function hostOf({ origin }: RepositoryPlace, provider: ProviderName): GitHost {
  return gitHostOf(publicHostAt(new URL(origin).hostname) ?? provider);
}

const isAt =
  ({ origin }: RepositoryPlace) =>
  ({ onlyAt = origin }: { onlyAt?: string }) =>
    onlyAt === origin;

/** Null: the host has no API for statuses. */
export function statusApiFor(place: RepositoryPlace, provider: ProviderName): StatusApi | null {
  return hostOf(place, provider).statuses?.find(isAt(place)) ?? null;
}

/** The API that a stored call names, and where it expects the token; null: the call is no commit status. */
export function statusApiOf(proof: string): (StatusApi & { token: TokenPlace }) | null {
  for (const { statuses, token } of Object.values<GitHost>(gitHosts)) {
    const api = statuses?.find((each) => each.proof === proof);
    if (api !== undefined && token !== undefined) return { ...api, token };
  }
  return null;
}

/** Null: the pages of the repository are not known. */
export function pagesFor(place: RepositoryPlace, provider: ProviderName): HostPages | null {
  const { pages } = hostOf(place, provider);
  return pages !== undefined && isAt(place)(pages) ? pages : null;
}
