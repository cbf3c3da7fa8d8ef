import type { ProviderName } from "../git-host/hosts.ts";
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

interface HostPages {
  commit: (commit: string) => string;
  branch: (name: string) => string;
  tag: (name: string) => string;
  mergeRequest: (number: string) => string;
  compare: ((from: string, to: string) => string) | null;
}

const github: HostPages = {
  commit: (commit) => `commit/${commit}`,
  branch: (name) => `tree/${name}`,
  tag: (name) => `tree/${name}`,
  mergeRequest: (number) => `pull/${number}`,
  compare: (from, to) => `compare/${from}...${to}`,
};

const gitlab: HostPages = {
  commit: (commit) => `-/commit/${commit}`,
  branch: (name) => `-/tree/${name}`,
  tag: (name) => `-/tags/${name}`,
  mergeRequest: (number) => `-/merge_requests/${number}`,
  compare: (from, to) => `-/compare/${from}...${to}`,
};

const gitea: HostPages = {
  ...github,
  branch: (name) => `src/branch/${name}`,
  tag: (name) => `src/tag/${name}`,
  mergeRequest: (number) => `pulls/${number}`,
};

const gitee: HostPages = { ...github, mergeRequest: (number) => `pulls/${number}` };

const codeup: HostPages = { ...github, mergeRequest: (number) => `change/${number}`, compare: null };

const bitbucket: HostPages = {
  commit: (commit) => `commits/${commit}`,
  branch: (name) => `branch/${name}`,
  tag: (name) => `src/${name}`,
  mergeRequest: (number) => `pull-requests/${number}`,
  compare: (from, to) => `branches/compare/${to}..${from}`,
};

const pagesOfProvider: Partial<Record<ProviderName, HostPages>> = {
  github,
  gitlab,
  gitea,
  gitee,
  gogs: gitea,
  codeup,
};

const pagesOfHostname: ReadonlyMap<string, HostPages> = new Map([
  ["github.com", github],
  ["gitlab.com", gitlab],
  ["codeberg.org", gitea],
  ["gitea.com", gitea],
  ["gitee.com", gitee],
  ["codeup.aliyun.com", codeup],
  ["bitbucket.org", bitbucket],
]);

/** Null: the repository is on no known host. `serving`: the commit that is serving. */
export function hostLinksOf(
  task: Pick<Task, "ref" | "commit" | "source">,
  { cloneUrl, provider, serving }: { cloneUrl: string; provider: ProviderName; serving: string | null },
): HostLinks | null {
  const place = repositoryPlaceOf(cloneUrl);
  if (place === null) return null;
  const pages = pagesOfHostname.get(new URL(place.origin).hostname) ?? pagesOfProvider[provider];
  if (pages === undefined) return null;
  const at = (page: string) => `${place.origin}/${encodedPath(place.path)}/${page}`;
  const { commit } = task;
  const number = task.source?.mergeRequest ?? "";
  return {
    commit: commit === null ? null : at(pages.commit(encodeURIComponent(commit))),
    ref: refPage(task.ref, pages, at),
    mergeRequest: number === "" ? null : at(pages.mergeRequest(encodeURIComponent(number))),
    compare:
      commit === null || serving === null || serving === commit || pages.compare === null
        ? null
        : at(pages.compare(encodeURIComponent(serving), encodeURIComponent(commit))),
  };
}

function refPage(ref: string, pages: HostPages, at: (page: string) => string): string | null {
  const [, kind, name = ""] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? [];
  if (kind === undefined) return null;
  return at(kind === "heads" ? pages.branch(encodedPath(name)) : pages.tag(encodedPath(name)));
}

function encodedPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
