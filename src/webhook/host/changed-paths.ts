import { at, countAt, isObject, isTrueAt, type JsonObject, listAt, textAt } from "./json-reader.ts";

export interface ChangedPaths {
  /** Null: unknown. */
  paths: string[] | null;
  unknownBecause: string | null;
}

/** More than this is treated as a list that nobody should filter by. */
const maxPaths = 10_000;
/** GitHub lists at most this many commits of one push. */
const githubMaxCommits = 2048;
/** Gogs, and Gitea of old, list no more of a push and do not count what they leave out. */
const uncountedMaxCommits = 5;

export function unknownPaths(because: string): ChangedPaths {
  return { paths: null, unknownBecause: because };
}

/**
 * Files that a push changed, as far as the host tells. Hosts cut their lists (GitLab at 20 commits, Gitea at 5) or leave
 * them out; such a list says nothing about files it does not name, so it reads as unknown.
 */
export function changedPathsOf(payload: JsonObject): ChangedPaths {
  const commits = listAt(payload, "commits");
  if (commits === null) return unknownPaths("the host sent no list of commits");
  if (commits.length === 0) return unknownPaths("the host sent an empty list of commits");
  const cut = cutSign(payload, commits.length);
  if (cut) return unknownPaths(cut);
  const paths = new Set<string>();
  for (const commit of [...commits, at(payload, "head_commit")]) {
    if (commit === undefined || commit === null) continue;
    if (!addFiles(commit, paths)) return unknownPaths("the host's commits name no files");
    if (paths.size > maxPaths) return unknownPaths(`the push changes more than ${maxPaths} files`);
  }
  return { paths: [...paths], unknownBecause: null };
}

function cutSign(payload: JsonObject, sent: number): string | null {
  const total = countAt(payload, "total_commits_count") ?? countAt(payload, "total_commits");
  if (total !== null && total > sent) return `the host sent ${sent} of ${total} commits`;
  if (isTrueAt(payload, "commits_more_than_ten"))
    return `the host sent only ${sent} commits of more than ten`;
  if (sent >= githubMaxCommits) return `the host sends at most ${githubMaxCommits} commits`;
  const isUncounted = total === null && textAt(payload, "compare_url") !== "";
  if (isUncounted && sent >= uncountedMaxCommits)
    return `the host sends at most ${uncountedMaxCommits} commits`;
  // The files of commits that were thrown away have changed too, and stand nowhere.
  return isTrueAt(payload, "forced") ? "a forced push does not name what it took away" : null;
}

/** False when the commit carries no file list at all. */
function addFiles(commit: unknown, paths: Set<string>): boolean {
  if (!isObject(commit)) return false;
  const lists = ["added", "modified", "removed"].map((name) => listAt(commit, name));
  if (lists.every((list) => list === null)) return false;
  for (const list of lists) for (const path of list ?? []) if (typeof path === "string") paths.add(path);
  return true;
}

/** Paths that a sender of our own format lists itself. */
export function listedPathsOf(payload: JsonObject): ChangedPaths {
  const listed = listAt(payload, "paths");
  if (listed === null) return unknownPaths("the payload has no list of paths");
  if (listed.length > maxPaths) return unknownPaths(`the payload lists more than ${maxPaths} paths`);
  return { paths: listed.filter((path) => typeof path === "string"), unknownBecause: null };
}
