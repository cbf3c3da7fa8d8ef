import type { NormalizedEvent } from "../../model/delivery.ts";
import { isBranchOrTag, isCommit, isSafeRef, toShortRef } from "../../model/git/git-ref.ts";
import type { MatchWork } from "../../model/glob.ts";
import { reasonText } from "../../reason/reason.ts";
import type { Outcome } from "./outcome.ts";
import type { Pattern, Rules } from "./rules.ts";
import type { Trace } from "./trace.ts";
import type { WayIn } from "./ways-in.ts";

/** Work limit of all patterns of one decision. Ref patterns have a separate limit, which path patterns cannot use up. */
export interface FilterWork {
  refs: MatchWork;
  paths: MatchWork;
}

/** About a tenth of a second, a thousand times the work of a usual delivery. */
export const maxFilterSteps = 10_000_000;

export function newFilterWork(): FilterWork {
  return { refs: { left: maxFilterSteps }, paths: { left: maxFilterSteps } };
}

/** The steps used so far. */
export function stepsOf({ refs, paths }: FilterWork): number {
  return 2 * maxFilterSteps - refs.left - paths.left;
}

/**
 * Filter steps 1 to 4, after the checks that no rule can change. Null: passed. Steps 5 and 6 look at tasks
 * (pipeline.ts).
 */
export function filter(
  event: NormalizedEvent,
  rules: Rules,
  way: WayIn,
  trace: Trace,
  work: FilterWork = newFilterWork(),
): Outcome | null {
  return (
    stopIfSkipped(event, trace) ??
    (way.eventList ? matchEvent(event, rules, trace) : null) ??
    refuseUnusable(event, trace) ??
    (way.otherFilters
      ? (refuseFork(event, rules, trace) ??
        matchRef(event, rules, trace, work.refs) ??
        matchPaths(event, rules, trace, work.paths) ??
        matchKeyword(event, rules, trace))
      : null)
  );
}

function stopIfSkipped(event: NormalizedEvent, trace: Trace): Outcome | null {
  if (event.skip === null) return null;
  const { code, reason } = event.skip;
  trace.add("event", "stop", event.rawEvent || (event.event ?? ""), "", reason);
  return { code, reason };
}

function matchEvent(event: NormalizedEvent, rules: Rules, trace: Trace): Outcome | null {
  const allowed = rules.events.join(", ");
  const isAllowed = event.event !== null && rules.events.includes(event.event);
  const detail = isAllowed
    ? reasonText("event_allowed")
    : reasonText("event_not_listed", { event: event.event ?? "null", events: allowed });
  trace.add("event", isAllowed ? "pass" : "stop", event.event ?? "", allowed, detail);
  return isAllowed ? null : { code: "event_not_allowed", reason: detail };
}

/** A short commit name is not a proof of a commit, but harmless; a name that is not hexadecimal may be harmful. */
const shortCommit = /^[0-9a-f]{4,64}$/i;

function refuseUnusable(event: NormalizedEvent, trace: Trace): Outcome | null {
  const stop = (value: string, reason: string): Outcome => {
    trace.add("ref", "stop", value, "", reason);
    return { code: "ref_invalid", reason };
  };
  if (event.ref === "") return stop("", reasonText("no_ref"));
  if (!isSafeRef(event.rawRef) || !isSafeRef(event.ref)) return stop(event.rawRef, reasonText("ref_unsafe"));
  const target = event.mergeRequest?.targetBranch ?? "";
  if (target !== "" && !isSafeRef(target)) return stop(target, reasonText("ref_unsafe"));
  const outside = outsideOf(event);
  if (outside !== null) return stop(event.rawRef, outside);
  const { commit } = event;
  if (commit !== null && !isCommit(commit) && !shortCommit.test(commit))
    return stop(commit, reasonText("commit_invalid"));
  return null;
}

/**
 * Why a ref is neither a branch nor a tag; null: it is one. Git hosts keep the code of forks in special refs such as
 * refs/pull/7/head, which outsiders can create: only a merge request may name one, and only if forks are allowed.
 */
function outsideOf({ rawRef, mergeRequest }: NormalizedEvent): string | null {
  if (mergeRequest?.fromFork) return null;
  if (!isBranchOrTag(rawRef)) return reasonText("ref_outside", { ref: rawRef });
  if (toShortRef(rawRef).startsWith("refs/")) return reasonText("ref_nested", { ref: rawRef });
  return null;
}

function refuseFork(event: NormalizedEvent, rules: Rules, trace: Trace): Outcome | null {
  if (!event.mergeRequest?.fromFork) return null;
  const detail = reasonText(rules.allowForks ? "fork_allowed" : "fork_not_allowed");
  trace.add("fork", rules.allowForks ? "pass" : "stop", event.mergeRequest.sourceBranch, "", detail);
  return rules.allowForks ? null : { code: "fork_not_allowed", reason: detail };
}

/** A filter that was not fully evaluated stops the delivery, because it protects deployments. */
function matchRef(event: NormalizedEvent, rules: Rules, trace: Trace, work: MatchWork): Outcome | null {
  const isTag = event.event === "tag";
  const noun = isTag ? "tag" : "branch";
  const patterns = isTag ? rules.tags : rules.branches;
  const names = namesOf(event);
  const shown = event.mergeRequest ? `${event.mergeRequest.targetBranch} ← ${event.ref}` : event.ref;
  if (patterns.length === 0) {
    trace.add(noun, "pass", shown, "", reasonText(`no_${noun}_filter`));
    return null;
  }
  const hit = patterns.find(({ matches }) => names.some((name) => matches(name, work)));
  const listed = textOf(patterns);
  if (hit) {
    trace.add(noun, "pass", shown, hit.text, reasonText(`${noun}_matches`, { pattern: hit.text }));
    return null;
  }
  const reason =
    work.left < 0
      ? reasonText(`${noun}_too_complex`, { ref: shown })
      : reasonText(`${noun}_not_matched`, { ref: shown, patterns: listed });
  trace.add(noun, "stop", shown, listed, reason);
  return { code: isTag ? "tag_not_matched" : "branch_not_matched", reason };
}

/** Full ref and short name; for a merge request, those of its target and of its built ref. */
function namesOf(event: NormalizedEvent): string[] {
  const own = [event.rawRef, event.ref];
  const target = event.mergeRequest?.targetBranch;
  return target ? [`refs/heads/${target}`, target, ...own] : own;
}

/**
 * Three-valued: a list that the host truncated or omitted neither matches nor fails to match, and must not prevent a
 * deploy.
 */
function matchPaths(event: NormalizedEvent, rules: Rules, trace: Trace, work: MatchWork): Outcome | null {
  if (rules.paths.length === 0) {
    trace.add("path", "pass", countOf(event.paths), "", reasonText("no_path_filter"));
    return null;
  }
  const listed = textOf(rules.paths);
  const { paths } = event;
  if (paths === null) {
    const detail = reasonText("paths_unknown", { why: event.pathsUnknownBecause ?? "null" });
    trace.add("path", "unknown", "", listed, detail);
    return null;
  }
  for (const pattern of rules.paths) {
    const path = paths.find((text) => pattern.matches(text, work));
    if (path === undefined) continue;
    trace.add(
      "path",
      "pass",
      path,
      pattern.text,
      reasonText("path_matches", { path, pattern: pattern.text }),
    );
    return null;
  }
  if (work.left < 0) {
    const detail = reasonText("paths_too_complex", { files: countOf(paths) });
    trace.add("path", "unknown", countOf(paths), listed, detail);
    return null;
  }
  const reason = reasonText("path_not_matched", { files: countOf(paths), patterns: listed });
  trace.add("path", "stop", paths.slice(0, 5).join(", "), listed, reason);
  return { code: "path_not_matched", reason };
}

function matchKeyword(event: NormalizedEvent, rules: Rules, trace: Trace): Outcome | null {
  const message = event.message.toLowerCase();
  const found = rules.skipKeywords.find((keyword) => message.includes(keyword.toLowerCase()));
  const keyword = found ?? rules.skipKeywords.join(", ");
  const detail = reasonText(found === undefined ? "keyword_absent" : "keyword_found", { keyword });
  trace.add("keyword", found === undefined ? "pass" : "stop", firstLineOf(event.message), keyword, detail);
  return found === undefined ? null : { code: "skip_keyword", reason: detail };
}

export function firstLineOf(message: string): string {
  return /^[^\r\n]*/.exec(message)?.[0] ?? "";
}

function textOf(patterns: readonly Pattern[]): string {
  return patterns.map(({ text }) => text).join(", ");
}

function countOf(paths: string[] | null): string {
  if (paths === null) return "unknown";
  return paths.length === 1 ? reasonText("one_file") : reasonText("many_files", { number: paths.length });
}
