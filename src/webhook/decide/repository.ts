import { isIP } from "node:net";
import { BoundedMap } from "../../bounded-map.ts";
import type { NormalizedEvent } from "../../model/delivery.ts";
import { gitAddressOf } from "../../model/git/git-url.ts";
import type { Project } from "../../model/project.ts";
import type { RepositoryCheck } from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import type { Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

interface Place {
  host: string;
  path: string;
}

/** Compares the repository that a delivery names with the project's. Null: the delivery continues. */
export function checkRepository(
  event: NormalizedEvent,
  project: Pick<Project, "git">,
  check: RepositoryCheck,
  trace: Trace,
): Outcome | null {
  const other = otherRepository(event, project);
  if (other === null) return null;
  const values = { other, own: project.git.url };
  if (check === "warn") {
    trace.add("repository", "unknown", other, project.git.url, newReason("repository_warned", values));
    return null;
  }
  const reason = newReason("repository_mismatch", values);
  trace.add("repository", "stop", other, project.git.url, reason);
  return { code: "repository_mismatch", reason };
}

/** The repository of the delivery if it is known and another one; null otherwise. */
export function otherRepository(
  { repository = [] }: Pick<NormalizedEvent, "repository">,
  { git }: Pick<Project, "git">,
): string | null {
  const own = placeOf(git.url);
  if (own === null) return null;
  let other: string | null = null;
  for (const address of repository) {
    const place = placeOf(address);
    if (place === null) continue;
    if (place.path === own.path && isSameHost(place.host, own.host)) return null;
    other ??= address;
  }
  return other;
}

/** A name inside a private network is often an alias of the same server, so it never counts as different. */
function isSameHost(one: string, other: string): boolean {
  return one === other || isInternal(one) || isInternal(other);
}

function isInternal(host: string): boolean {
  return !host.includes(".") || isIP(host.replace(/^\[|\]$/g, "")) !== 0;
}

/** Every delivery of a repository names the same addresses, and to read one takes longer than to find it here. */
const knownPlaces = new BoundedMap<string, Place | null>(1_000);

function placeOf(url: string): Place | null {
  const known = knownPlaces.get(url);
  if (known !== undefined) return known;
  const place = readPlace(url);
  knownPlaces.set(url, place);
  return place;
}

function readPlace(url: string): Place | null {
  const address = gitAddressOf(url);
  if (address === null) return null;
  const path = address.path
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/i, "")
    .toLowerCase();
  return path === "" ? null : { host: address.host.toLowerCase(), path };
}
