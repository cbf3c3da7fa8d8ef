import { isObject, type JsonObject } from "../../json.ts";
import { newReason } from "../../reason/reason.ts";
import { unknownPaths } from "./changed-paths.ts";
import type { NormalizedEvent } from "./event.ts";
import { at, firstText, isTrueAt, textAt } from "./json-reader.ts";
import { normalized, pathFieldsOf, skipped } from "./normalized.ts";
import { accountOf } from "./push-payload.ts";

/** A merge request in one shape for all hosts. */
interface MergeRequest {
  /** As the host names it; "" if it sends none. */
  action: string;
  /** Whether an update contains new commits; null: the host does not say. */
  bringsCommits: boolean | null;
  isMerged: boolean;
  title: string;
  message: string;
  sourceBranch: string;
  targetBranch: string;
  headCommit: string;
  mergeCommit: string;
  fromFork: boolean;
  /** Its number at the host. Other text counts as none: it could name a ref outside of the merge request. */
  number: string;
  /** The host's ref for the head of a request from a fork, with its number as `*`; "" if there is none. */
  headRef: string;
}

/** Actions that change the code to build. An update counts only if it contains new commits. */
const buildingActions = new Set([
  "open",
  "opened",
  "created",
  "reopen",
  "reopened",
  "synchronize",
  "synchronized",
  "from_ref_updated",
]);
const mergedActions = new Set(["merge", "merged", "fulfilled"]);
const updateActions = new Set(["update", "updated"]);

/** On Bitbucket, `eventName` contains the action: pullrequest:created. */
export function readMergeRequest(payload: JsonObject, eventName: string): NormalizedEvent {
  const request = requestOf(payload, eventName);
  const author = accountOf(payload);
  if (request === null) return skipped("probe", newReason("probe_no_request"), { author });
  const fields = fieldsOf(request, author);
  if (isBuilding(request)) return normalized(fields);
  const action = updateActions.has(request.action) ? "an update without commits" : request.action;
  return skipped("event_not_allowed", newReason("merge_request_action", { action }), fields);
}

function isBuilding(request: MergeRequest): boolean {
  if (request.isMerged || request.action === "" || buildingActions.has(request.action)) return true;
  return updateActions.has(request.action) && request.bringsCommits !== false;
}

/** An open request builds its source at its head; a merged one builds its target at the merge. */
function fieldsOf(request: MergeRequest, author: string): Partial<NormalizedEvent> {
  const branch = request.isMerged ? request.targetBranch : request.sourceBranch;
  const commit = request.isMerged ? request.mergeCommit : request.headCommit;
  const ownRef = branch === "" ? "" : `refs/heads/${branch}`;
  const number = /^\d+$/.test(request.number) ? request.number : "";
  const isForeign = request.fromFork && !request.isMerged && request.headRef !== "" && number !== "";
  return {
    event: "merge_request",
    rawRef: isForeign ? request.headRef.replace("*", number) : ownRef,
    ref: branch,
    refType: "branch",
    commit: commit === "" ? null : commit,
    message: request.message === "" ? request.title : `${request.title}\n\n${request.message}`.trimStart(),
    author,
    ...pathFieldsOf(unknownPaths(newReason("paths_merge_request"))),
    mergeRequest: {
      action: request.action || null,
      title: request.title,
      sourceBranch: request.sourceBranch,
      targetBranch: request.targetBranch,
      fromFork: request.fromFork,
      ...(number === "" ? {} : { number }),
      isMerged: request.isMerged,
    },
  };
}

function requestOf(payload: JsonObject, eventName: string): MergeRequest | null {
  const attributes = at(payload, "object_attributes");
  if (isObject(attributes)) return readGitlab(payload, attributes);
  const bitbucket = at(payload, "pullrequest");
  if (isObject(bitbucket)) return readBitbucket(bitbucket, eventName);
  const dataCenter = at(payload, "pullRequest");
  if (isObject(dataCenter)) return readDataCenter(dataCenter, eventName || textAt(payload, "eventKey"));
  const pull = at(payload, "pull_request");
  return isObject(pull) ? readGithub(payload, pull) : null;
}

/** GitHub, Gitea, Gogs, and Gitee, whose bodies are GitHub's under GitLab's event names. */
function readGithub(payload: JsonObject, pull: JsonObject): MergeRequest {
  const action = textAt(payload, "action");
  const described = textAt(payload, "action_desc");
  return {
    action,
    bringsCommits: described === "" ? null : described === "source_branch_changed",
    isMerged: mergedActions.has(action) || (action === "closed" && isTrueAt(pull, "merged")),
    title: textAt(pull, "title"),
    message: "",
    sourceBranch: firstText(
      textAt(pull, "head", "ref"),
      textAt(pull, "head_branch"),
      textAt(payload, "source_branch"),
    ),
    targetBranch: firstText(
      textAt(pull, "base", "ref"),
      textAt(pull, "base_branch"),
      textAt(payload, "target_branch"),
    ),
    headCommit: textAt(pull, "head", "sha"),
    mergeCommit: textAt(pull, "merge_commit_sha"),
    fromFork:
      areDifferent(at(pull, "head", "repo"), at(pull, "base", "repo")) ||
      areDifferent(at(pull, "head_repo"), at(pull, "base_repo")),
    number: firstText(textAt(pull, "number"), textAt(payload, "number")),
    headRef: "refs/pull/*/head",
  };
}

/** GitLab and Codeup. */
function readGitlab(payload: JsonObject, attributes: JsonObject): MergeRequest {
  const action = textAt(attributes, "action");
  const [source, target] = [textAt(attributes, "source_project_id"), textAt(attributes, "target_project_id")];
  return {
    action,
    // GitLab lists what an update changed and names the old commit; a body with neither does not say.
    bringsCommits:
      textAt(attributes, "oldrev") !== "" ? true : isObject(at(payload, "changes")) ? false : null,
    isMerged: mergedActions.has(action) || (action === "" && textAt(attributes, "state") === "merged"),
    title: textAt(attributes, "title"),
    message: textAt(attributes, "last_commit", "message"),
    sourceBranch: textAt(attributes, "source_branch"),
    targetBranch: textAt(attributes, "target_branch"),
    headCommit: textAt(attributes, "last_commit", "id"),
    mergeCommit: textAt(attributes, "merge_commit_sha"),
    fromFork: source !== "" && target !== "" && source !== target,
    number: textAt(attributes, "iid"),
    headRef: "refs/merge-requests/*/head",
  };
}

function readBitbucket(pull: JsonObject, eventName: string): MergeRequest {
  return {
    ...bitbucketFields(pull, eventName, "pullrequest:"),
    sourceBranch: textAt(pull, "source", "branch", "name"),
    targetBranch: textAt(pull, "destination", "branch", "name"),
    headCommit: textAt(pull, "source", "commit", "hash"),
    mergeCommit: textAt(pull, "merge_commit", "hash"),
    fromFork: areDifferent(at(pull, "source", "repository"), at(pull, "destination", "repository")),
    headRef: "",
  };
}

/** Bitbucket Data Center: `pr:opened`, `pr:from_ref_updated`, `pr:merged`. */
function readDataCenter(pull: JsonObject, eventName: string): MergeRequest {
  return {
    ...bitbucketFields(pull, eventName, "pr:"),
    sourceBranch: textAt(pull, "fromRef", "displayId"),
    targetBranch: textAt(pull, "toRef", "displayId"),
    headCommit: textAt(pull, "fromRef", "latestCommit"),
    mergeCommit: textAt(pull, "properties", "mergeCommit", "id"),
    fromFork: areDifferent(at(pull, "fromRef", "repository"), at(pull, "toRef", "repository")),
    headRef: "refs/pull-requests/*/from",
  };
}

function bitbucketFields(pull: JsonObject, eventName: string, prefix: string) {
  const action = eventName.startsWith(prefix) ? eventName.slice(prefix.length) : "";
  return {
    action,
    bringsCommits: null,
    isMerged: mergedActions.has(action) || (action === "" && textAt(pull, "state") === "MERGED"),
    title: textAt(pull, "title"),
    message: "",
    number: textAt(pull, "id"),
  };
}

/** A source repository that is null is a deleted fork. */
function areDifferent(source: unknown, target: unknown): boolean {
  if (source === null && isObject(target)) return true;
  if (!isObject(source) || !isObject(target)) return false;
  const [from, to] = [nameOf(source), nameOf(target)];
  return from !== "" && to !== "" && from !== to;
}

function nameOf(repository: JsonObject): string {
  return firstText(textAt(repository, "full_name"), textAt(repository, "id"), textAt(repository, "name"));
}
