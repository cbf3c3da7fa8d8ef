import { BoundedMap } from "../bounded-map.ts";
import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { type HostAnswer, type HostRepository, pageOf } from "../git-host/api/host-api.ts";
import { newReason } from "../reason/reason.ts";
import { hasNextPage, idOf, succeeded } from "./host-answer.ts";
import type { HostAccess } from "./host-client.ts";

export interface FoundRepositories {
  items: HostRepository[];
  /** Whether the host has more that were not read or not returned. */
  isCut: boolean;
}

const maxItems = 100;
/** A thousand repositories at GitHub, GitLab and Gitee, 500 at Gitea. */
const maxPages = 10;
/** While a user types, a host that cannot search is not read again for each letter. */
const keptMs = 60_000;
const maxKept = 50;

/** The user of the token at the host. */
export async function readHostUser({
  origin,
  call,
}: HostAccess): Promise<{ id: string; answer: HostAnswer }> {
  const answer = await call({ method: "GET", path: "/user" });
  const id = idOf(succeeded(answer, origin, newReason("host_user")));
  if (id === null) throw wrongKind(origin);
  return { id, answer };
}

/** Repositories whose settings the token may change; the host searches where its API can. */
export function buildHostRepositories(clock: Clock) {
  const kept = new BoundedMap<number, { untilMs: number; found: FoundRepositories }>(maxKept);

  /** Reads pages until there are enough repositories. */
  async function readPages(access: HostAccess, search: string, enough: number): Promise<FoundRepositories> {
    const { api, origin, call } = access;
    const userId = (await readHostUser(access)).id;
    const items: HostRepository[] = [];
    let isCut = false;
    for (let page = 1; page <= maxPages; page++) {
      const answer = await call(pageOf(api, api.repositories({ search, userId }), page));
      const listed = api.repositoriesIn(succeeded(answer, origin, newReason("host_list")));
      if (listed === null) throw wrongKind(origin);
      items.push(...listed.flatMap((json) => api.readRepository(json) ?? []));
      isCut = hasNextPage(answer, page);
      if (!isCut || listed.length === 0 || items.length >= enough) break;
    }
    return { items, isCut };
  }

  /** The first thousand, from which this server selects. */
  async function readAll(tokenId: number, access: HostAccess): Promise<FoundRepositories> {
    const stored = kept.get(tokenId);
    if (stored !== undefined && stored.untilMs > clock.now()) return stored.found;
    const found = await readPages(access, "", Number.POSITIVE_INFINITY);
    kept.set(tokenId, { untilMs: clock.now() + keptMs, found });
    return found;
  }

  return {
    /** Whether the token may list repositories at all. */
    async verify(access: HostAccess): Promise<void> {
      await readPages(access, "", 1);
    },
    async find(tokenId: number, access: HostAccess, search: string): Promise<FoundRepositories> {
      const wanted = search.trim().toLowerCase();
      if (wanted === "") return cut(await readPages(access, "", maxItems));
      // Hosts search the name; `group/` before it is compared here.
      const name = wanted.split("/").at(-1) ?? "";
      const { minSearchLength } = access.api;
      const isSearchedThere = minSearchLength !== null && name.length >= minSearchLength;
      const found = isSearchedThere
        ? await readPages(access, name, maxItems)
        : await readAll(tokenId, access);
      if (isSearchedThere && name === wanted) return cut(found);
      return cut({ ...found, items: found.items.filter(({ path }) => path.toLowerCase().includes(wanted)) });
    },
    forget: (tokenId: number) => void kept.delete(tokenId),
  };
}

function cut({ items, isCut }: FoundRepositories): FoundRepositories {
  return { items: items.slice(0, maxItems), isCut: isCut || items.length > maxItems };
}

function wrongKind(origin: string): Fault {
  const message = newReason("host_kind");
  return new Fault("conflict", newReason("host_kind_wrong", { origin }), {
    fields: [{ field: "url", message }],
  });
}
