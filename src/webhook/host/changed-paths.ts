import { isObject, type JsonObject } from "../../json.ts";
import { at, countAt, isTrueAt, listAt, textAt } from "./json-reader.ts";

export interface ChangedPaths {
  /** Null: unknown. */
  paths: string[] | null;
  unknownBecause: string | null;
}

/** Longer lists count as unknown, which limits the cost of filters. */
const maxPaths = 10_000;
/** GitHub lists at most this many commits of one push. */
const githubMaxCommits = 2048;
/** Gogs and old versions of Gitea list at most this many commits of a push and do not send the total. */
const uncountedMaxCommits = 5;

export function unknownPaths(because: string): ChangedPaths {
  return { paths: null, unknownBecause: because };
}

/**
 * Files that a push changed. Hosts truncate their lists (GitLab at 20 commits, Gitea at 5) or omit them. Other files may
 * have changed too then, so the result is unknown.
 */
export function changedPathsOf(payload: JsonObject): ChangedPaths {
  const commits = listAt(payload, "commits");
  if (commits === null) return unknownPaths("the host sent no list of commits");
  if (commits.length === 0) return unknownPaths("the host sent an empty list of commits");
  const truncated = whyTruncated(payload, commits.length);
  if (truncated) return unknownPaths(truncated);
  const paths = new Set<string>();
  for (const commit of [...commits, at(payload, "head_commit")]) {
    if (commit === undefined || commit === null) continue;
    if (!addFiles(commit, paths)) return unknownPaths("the host's commits name no files");
    if (paths.size > maxPaths) return unknownPaths(`the push changes more than ${maxPaths} files`);
  }
  return { paths: [...paths], unknownBecause: null };
}

function whyTruncated(payload: JsonObject, sent: number): string | null {
  const total = countAt(payload, "total_commits_count") ?? countAt(payload, "total_commits");
  if (total !== null && total > sent) return `the host sent ${sent} of ${total} commits`;
  if (isTrueAt(payload, "commits_more_than_ten"))
    return `the host sent only ${sent} commits of more than ten`;
  if (sent >= githubMaxCommits) return `the host sends at most ${githubMaxCommits} commits`;
  const isUncounted = total === null && textAt(payload, "compare_url") !== "";
  if (isUncounted && sent >= uncountedMaxCommits)
    return `the host sends at most ${uncountedMaxCommits} commits`;
  return isTrueAt(payload, "forced") ? "a forced push does not list the files of removed commits" : null;
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
  if (listed === null) return unknownPaths("the payload has no list of paths");
  if (listed.length > maxPaths) return unknownPaths(`the payload lists more than ${maxPaths} paths`);
  return { paths: listed.filter((path) => typeof path === "string"), unknownBecause: null };
}
