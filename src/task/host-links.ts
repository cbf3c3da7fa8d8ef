import { inUrl } from "../git-host/delivery/in-url.ts";
import type { ProviderName } from "../git-host/hosts.ts";
import { pagesFor } from "../git-host/recognise.ts";
import { repositoryPlaceOf } from "../model/git/repository-place.ts";
import type { Task } from "../model/task.ts";

/** Pages of the Git host. Null: the task has no such thing, or the host has no known page for it. */
export interface HostLinks {
  commit: string | null;
  ref: string | null;
  mergeRequest: string | null;
  /** What changed between the commit that is serving and this one. */
  compare: string | null;
}

/**
 * The links of a task to pages of its Git host. Null: the repository is on no known host. `serving`: the commit that is
 * serving.
 */
export function hostLinksOf(
  task: Pick<Task, "ref" | "commit" | "source">,
  { cloneUrl, provider, serving }: { cloneUrl: string; provider: ProviderName; serving: string | null },
): HostLinks | null {
  const place = repositoryPlaceOf(cloneUrl);
  if (place === null) return null;
  const pages = pagesFor(place, provider);
  if (pages === null) return null;
  const at = (page: string | null, values: Record<string, string | null>) =>
    page === null || Object.values(values).some((value) => value === null)
      ? null
      : `${place.origin}/${inUrl(place.path)}/${page.replace(/\{(\w+)\}/g, (_, name) => inUrl(values[name] ?? ""))}`;
  const { commit } = task;
  const [, kind, ref = null] = /^refs\/(heads|tags)\/(.+)$/s.exec(task.ref) ?? [];
  const from = serving === commit ? null : serving;
  return {
    commit: at(pages.commit, { commit }),
    ref: at(kind === "tags" ? pages.tag : pages.branch, { ref }),
    mergeRequest: at(pages.mergeRequest, { number: task.source?.mergeRequest || null }),
    compare: at(pages.compare, { from, to: commit }),
  };
}
