import { isObject, type JsonObject } from "../../json.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { at, countAt, isTrueAt, listAt, textAt } from "./json-reader.ts";

export interface ChangedPaths {
  /** Null: unknown. */
  paths: string[] | null;
  unknownBecause: Reason | null;
  /** The host has the rest of the list. */
  isCut?: true;
}

/** Longer lists count as unknown, which limits the cost of filters. */
const maxPaths = 10_000;
/** GitHub lists at most this many commits of one push. */
const githubMaxCommits = 2048;
/** Gogs and old versions of Gitea list at most this many commits of a push and do not send the total. */
const uncountedMaxCommits = 5;

export function unknownPaths(because: Reason): ChangedPaths {
  return { paths: null, unknownBecause: because };
}

/**
 * Files that a push changed. Hosts truncate their lists (GitLab at 20 commits, Gitea at 5) or omit them. Other files may
 * have changed too then, so the result is unknown.
 */
export function changedPathsOf(payload: JsonObject): ChangedPaths {
  const commits = listAt(payload, "commits");
  if (commits === null) return unknownPaths(newReason("paths_no_commits"));
  if (commits.length === 0) return unknownPaths(newReason("paths_empty_commits"));
  const truncated = whyTruncated(payload, commits.length);
  if (truncated) return { ...unknownPaths(truncated), isCut: true };
  const paths = new Set<string>();
  for (const commit of [...commits, at(payload, "head_commit")]) {
    if (commit === undefined || commit === null) continue;
    if (!addFiles(commit, paths)) return unknownPaths(newReason("paths_no_files"));
    if (paths.size > maxPaths) return unknownPaths(newReason("paths_too_many", { number: maxPaths }));
  }
  return { paths: [...paths], unknownBecause: null };
}

function whyTruncated(payload: JsonObject, sent: number): Reason | null {
  const total = countAt(payload, "total_commits_count") ?? countAt(payload, "total_commits");
  if (total !== null && total > sent) return newReason("paths_cut", { sent, total });
  if (isTrueAt(payload, "commits_more_than_ten")) return newReason("paths_cut_ten", { sent });
  if (sent >= githubMaxCommits) return newReason("paths_limited", { number: githubMaxCommits });
  const isUncounted = total === null && textAt(payload, "compare_url") !== "";
  if (isUncounted && sent >= uncountedMaxCommits)
    return newReason("paths_limited", { number: uncountedMaxCommits });
  return isTrueAt(payload, "forced") ? newReason("paths_forced") : null;
}

/** False if the commit has no list of files. */
function addFiles(commit: unknown, paths: Set<string>): boolean {
  if (!isObject(commit)) return false;
  const lists = ["added", "modified", "removed"].map((name) => listAt(commit, name));
  if (lists.every((list) => list === null)) return false;
  for (const list of lists) for (const path of list ?? []) if (typeof path === "string") paths.add(path);
  return true;
}

/** The field `paths` of our own format. */
export function listedPathsOf(payload: JsonObject): ChangedPaths {
  const listed = listAt(payload, "paths");
  if (listed === null) return unknownPaths(newReason("paths_not_listed"));
  if (listed.length > maxPaths) return unknownPaths(newReason("paths_listed_too_many", { number: maxPaths }));
  return { paths: listed.filter((path) => typeof path === "string"), unknownBecause: null };
}
