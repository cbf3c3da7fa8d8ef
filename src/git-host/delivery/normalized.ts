import { isBranchOrTag, toFullRef, toShortRef } from "../../model/git/git-ref.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { ChangedPaths } from "./changed-paths.ts";
import type { NormalizedEvent, RefChange } from "./event.ts";

/** `rawEvent` of a push that a poll found. */
export const pollEvent = "poll";

/** An event before its payload is read. */
const blank: NormalizedEvent = {
  event: null,
  rawEvent: "",
  rawRef: "",
  ref: "",
  refType: null,
  commit: null,
  message: "",
  author: "",
  paths: null,
  pathsUnknownBecause: null,
  skip: null,
  mergeRequest: null,
  hostDeliveryId: null,
};

export function normalized(known: Partial<NormalizedEvent>): NormalizedEvent {
  return { ...blank, ...known };
}

/** An event that can build nothing, with the reason. */
export function skipped(
  code: NonNullable<NormalizedEvent["skip"]>["code"],
  reason: Reason,
  known: Partial<NormalizedEvent> = {},
): NormalizedEvent {
  return { ...blank, ...known, skip: { code, reason } };
}

export function deletionOf(known: Partial<NormalizedEvent>): NormalizedEvent {
  return skipped("ref_deleted", newReason("ref_deleted", { ref: known.ref || "A ref" }), known);
}

/** All zeros mean "no commit", in SHA-1 and SHA-256 repositories. */
export function isNoCommit(commit: string): boolean {
  return /^0+$/.test(commit);
}

/** Ref fields of a branch or tag. A full ref contains its type, if any; for a short one `refType` decides. */
export function refFieldsOf(
  ref: string,
  refType: string,
): Pick<NormalizedEvent, "event" | "rawRef" | "ref" | "refType"> {
  const isTag = ref.startsWith("refs/tags/") || (!ref.startsWith("refs/") && refType === "tag");
  const rawRef = ref === "" ? "" : isTag && !ref.startsWith("refs/") ? `refs/tags/${ref}` : toFullRef(ref);
  return {
    event: isTag ? "tag" : "push",
    rawRef,
    ref: toShortRef(rawRef),
    refType: isTag ? "tag" : rawRef === "" || isBranchOrTag(rawRef) ? "branch" : null,
  };
}

export function pathFieldsOf(changed: ChangedPaths): Pick<NormalizedEvent, "paths" | "pathsUnknownBecause"> {
  return { paths: changed.paths, pathsUnknownBecause: changed.unknownBecause };
}

/** The fields of an event that describe its ref. */
export function refChangeOf({ event, rawRef, ref, refType, commit, message, skip }: RefChange): RefChange {
  return { event, rawRef, ref, refType, commit, message, skip };
}
