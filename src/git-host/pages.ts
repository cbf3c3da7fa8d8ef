/** Pages of a repository at the host: paths after its address. */
export interface HostPages {
  /** The only server that has them. */
  onlyAt?: string;
  /** `{commit}` */
  commit: string;
  /** `{ref}` */
  branch: string;
  tag: string;
  /** `{number}` */
  mergeRequest: string;
  /** `{from}`, `{to}`; null: the host has no known page. */
  compare: string | null;
}

/** GitHub's pages, which other hosts adopted. */
export const githubPages = {
  commit: "commit/{commit}",
  branch: "tree/{ref}",
  tag: "tree/{ref}",
  mergeRequest: "pull/{number}",
  compare: "compare/{from}...{to}",
} satisfies HostPages;

/** Gitea's pages, which are also those of Gogs. */
export const giteaPages = {
  ...githubPages,
  branch: "src/branch/{ref}",
  tag: "src/tag/{ref}",
  mergeRequest: "pulls/{number}",
} satisfies HostPages;
