import type { NormalizedEvent } from "../../model/delivery.ts";
import { environmentTaking } from "../../model/environment/environment.ts";
import { isBranchOrTag, isCommit, isSafeRef, toShortRef } from "../../model/git/git-ref.ts";
import type { MatchWork } from "../../model/glob.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { type Rules, textOf } from "../hook/compiled-rules.ts";
import type { Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

/** A short commit name is not a proof of a commit, but harmless; a name that is not hexadecimal may be harmful. */
const shortCommit = /^[0-9a-f]{4,64}$/i;

export function refuseUnusable(event: NormalizedEvent, trace: Trace): Outcome | null {
  const stop = (value: string, reason: Reason): Outcome => {
    trace.add("ref", "stop", value, "", reason);
    return { code: "ref_invalid", reason };
  };
  if (event.ref === "") return stop("", newReason("no_ref"));
  if (!isSafeRef(event.rawRef) || !isSafeRef(event.ref)) return stop(event.rawRef, newReason("ref_unsafe"));
  const target = event.mergeRequest?.targetBranch ?? "";
  if (target !== "" && !isSafeRef(target)) return stop(target, newReason("ref_unsafe"));
  const outside = outsideOf(event);
  if (outside !== null) return stop(event.rawRef, outside);
  const { commit } = event;
  if (commit !== null && !isCommit(commit) && !shortCommit.test(commit))
    return stop(commit, newReason("commit_invalid"));
  return null;
}

/**
 * Why a ref is neither a branch nor a tag; null: it is one. Git hosts keep the code of forks in special refs such as
 * refs/pull/7/head, which outsiders can create: only a merge request may name one, and only if forks are allowed.
 */
function outsideOf({ rawRef, mergeRequest }: NormalizedEvent): Reason | null {
  if (mergeRequest?.fromFork) return null;
  if (!isBranchOrTag(rawRef)) return newReason("ref_outside", { ref: rawRef });
  if (toShortRef(rawRef).startsWith("refs/")) return newReason("ref_nested", { ref: rawRef });
  return null;
}

export function refuseFork(event: NormalizedEvent, rules: Rules, trace: Trace): Outcome | null {
  if (!event.mergeRequest?.fromFork) return null;
  const detail = newReason(rules.allowForks ? "fork_allowed" : "fork_not_allowed");
  trace.add("fork", rules.allowForks ? "pass" : "stop", event.mergeRequest.sourceBranch, "", detail);
  return rules.allowForks ? null : { code: "fork_not_allowed", reason: detail };
}

/** Filter step 2: a branch or tag pattern matches. A filter that was not fully evaluated stops the delivery, because it protects deployments. */
export function matchRef(
  event: NormalizedEvent,
  rules: Rules,
  trace: Trace,
  work: MatchWork,
): Outcome | null {
  const isTag = event.event === "tag";
  const noun = isTag ? "tag" : "branch";
  const patterns = isTag ? rules.tags : rules.branches;
  const names = namesOf(event);
  const shown = event.mergeRequest ? `${event.mergeRequest.targetBranch} ← ${event.ref}` : event.ref;
  if (patterns.length === 0) {
    trace.add(noun, "pass", shown, "", newReason(`no_${noun}_filter`));
    return null;
  }
  const hit = patterns.find(({ matches }) => names.some((name) => matches(name, work)));
  const listed = textOf(patterns);
  if (hit) {
    trace.add(noun, "pass", shown, hit.text, newReason(`${noun}_matches`, { pattern: hit.text }));
    return null;
  }
  const reason =
    work.left < 0
      ? newReason(`${noun}_too_complex`, { ref: shown })
      : newReason(`${noun}_not_matched`, { ref: shown, patterns: listed });
  trace.add(noun, "stop", shown, listed, reason);
  return { code: isTag ? "tag_not_matched" : "branch_not_matched", reason };
}

/** Full ref and short name; for a merge request, those of its target and of its built ref. */
function namesOf(event: NormalizedEvent): string[] {
  const own = [event.rawRef, event.ref];
  const target = event.mergeRequest?.targetBranch;
  return target ? [`refs/heads/${target}`, target, ...own] : own;
}

/** The environment that takes the ref of an event. */
export function environmentFor(
  event: NormalizedEvent,
  { environments }: Rules,
  work: MatchWork,
): string | null {
  return environmentTaking(environments, builtNames(event), work);
}

/** Filter step 2 of a project with environments: one of them takes the ref. */
export function matchEnvironment(
  event: NormalizedEvent,
  rules: Rules,
  trace: Trace,
  work: MatchWork,
): Outcome | null {
  if (rules.environments.length === 0) return null;
  const environment = environmentFor(event, rules, work);
  if (environment !== null) {
    trace.add("environment", "pass", event.ref, environment, newReason("environment_takes", { environment }));
    return null;
  }
  const patterns = rules.environments
    .filter(({ refs }) => refs.length > 0)
    .map(({ name, refs }) => `${name}: ${refs.join(", ")}`)
    .join("; ");
  const reason =
    work.left < 0
      ? newReason("environment_too_complex", { ref: event.ref })
      : newReason("environment_none", { ref: event.ref, patterns });
  trace.add("environment", "stop", event.ref, patterns, reason);
  return { code: event.event === "tag" ? "tag_not_matched" : "branch_not_matched", reason };
}

/**
 * The names of what is built. The target of a merge request that is not merged is not built, and the source branch of a fork has a
 * name that its author chose.
 */
function builtNames({ rawRef, ref, mergeRequest }: NormalizedEvent): string[] {
  return mergeRequest?.fromFork && !mergeRequest.isMerged ? [rawRef] : [rawRef, ref];
}
