import { gitAddressOf } from "./git-url.ts";

/** Web address and path of a repository. */
export interface RepositoryPlace {
  origin: string;
  /** `group/shop`, without slashes at its ends and without `.git`. */
  path: string;
}

/** From any form of the clone URL; null if the URL names no web server or leaves the repository's path. */
export function repositoryPlaceOf(cloneUrl: string): RepositoryPlace | null {
  const place = placeIn(cloneUrl);
  return place === null || place.path.split("/").some((part) => part === "." || part === "..") ? null : place;
}

function placeIn(cloneUrl: string): RepositoryPlace | null {
  const address = gitAddressOf(cloneUrl);
  if (address === null || address.scheme === "git") return null;
  const { scheme, host, port, path } = address;
  const site = scheme === "ssh" ? `https://${host}` : `${scheme}://${host}:${port}`;
  return URL.canParse(site) ? { origin: new URL(site).origin, path: trimmed(path) } : null;
}

function trimmed(path: string): string {
  return decoded(path)
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/, "");
}

/** A path with invalid encoding is kept unchanged. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
