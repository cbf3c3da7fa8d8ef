import type { JsonObject } from "../../json.ts";
import { isCommit } from "../../model/git/git-ref.ts";
import { newReason } from "../../reason/reason.ts";
import { bitbucketChangesOf, readBitbucketPush } from "./bitbucket-push.ts";
import { changedPathsOf, unknownPaths } from "./changed-paths.ts";
import type { NormalizedEvent } from "./event.ts";
import { firstText, isTrueAt, listAt, textAt } from "./json-reader.ts";
import { deletionOf, isNoCommit, normalized, pathFieldsOf, refFieldsOf, skipped } from "./normalized.ts";

/**
 * A push as GitHub, GitLab, Gitee, Codeup, Gitea and Gogs send it: full `ref`, `before`, `after`. A push of refs/tags/… is
 * a tag. `isTag`: by its name, the event is a tag.
 */
export function readPush(payload: JsonObject, isTag: boolean): NormalizedEvent {
  const author = accountOf(payload);
  const changes = bitbucketChangesOf(payload);
  if (changes !== null) return readBitbucketPush(payload, changes, author);
  const ref = textAt(payload, "ref");
  if (ref === "") return skipped("probe", newReason("probe_no_ref"), { author });
  const refFields = refFieldsOf(ref, isTag ? "tag" : textAt(payload, "ref_type"));
  const after = textAt(payload, "after");
  if (isNoCommit(after) || isTrueAt(payload, "deleted")) return deletionOf({ ...refFields, author });
  const commit = headCommitOf(payload, after);
  const changed =
    refFields.refType === "tag" ? unknownPaths(newReason("paths_tag")) : changedPathsOf(payload);
  const before = textAt(payload, "before");
  return normalized({
    ...refFields,
    commit: commit === "" ? null : commit,
    ...(changed.isCut && isCommit(before) && !isNoCommit(before) ? { before } : {}),
    ...(refFields.refType === "tag" && isCommit(after) && after !== commit ? { tagObject: after } : {}),
    message: headMessageOf(payload, commit),
    author,
    ...pathFieldsOf(changed),
  });
}

/** For an annotated tag `after` names the tag object; the other two fields name its commit. */
function headCommitOf(payload: JsonObject, after: string): string {
  return firstText(textAt(payload, "checkout_sha"), textAt(payload, "head_commit", "id"), after);
}

/** GitLab lists the oldest commit first and Gitea the newest, so the head commit is found by its id. */
function headMessageOf(payload: JsonObject, commit: string): string {
  const commits = listAt(payload, "commits") ?? [];
  const head = commits.find((entry) => textAt(entry, "id") === commit) ?? commits.at(-1);
  return firstText(
    textAt(payload, "head_commit", "message"),
    textAt(head, "message"),
    textAt(payload, "message"),
  );
}

/** The account that pushed. The author of a commit is not used, because anybody can write any name there. */
export function accountOf(payload: JsonObject): string {
  return firstText(
    textAt(payload, "sender", "login"),
    textAt(payload, "user_username"),
    textAt(payload, "pusher", "login"),
    textAt(payload, "pusher", "username"),
    textAt(payload, "pusher", "name"),
    textAt(payload, "user_name"),
    textAt(payload, "user", "username"),
    textAt(payload, "actor", "username"),
    textAt(payload, "actor", "nickname"),
    textAt(payload, "actor", "name"),
    textAt(payload, "actor", "display_name"),
  );
}

/** `create` of GitHub, Gitea and Gogs: a short ref with its type; Gitea adds the commit, or the object of an annotated tag. */
export function readCreate(payload: JsonObject): NormalizedEvent {
  const ref = textAt(payload, "ref");
  const author = accountOf(payload);
  if (ref === "") return skipped("probe", newReason("probe_no_ref"), { author });
  const commit = firstText(textAt(payload, "sha"), textAt(payload, "commit"));
  return normalized({
    ...refFieldsOf(ref, textAt(payload, "ref_type")),
    commit: commit === "" ? null : commit,
    author,
    ...pathFieldsOf(unknownPaths(newReason("paths_new_ref"))),
  });
}

export function readDelete(payload: JsonObject): NormalizedEvent {
  const refFields = refFieldsOf(textAt(payload, "ref"), textAt(payload, "ref_type"));
  return deletionOf({ ...refFields, author: accountOf(payload) });
}
