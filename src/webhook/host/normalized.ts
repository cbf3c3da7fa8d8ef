import type { NormalizedEvent, RefChange } from "../../model/delivery.ts";
import { isBranchOrTag, toFullRef, toShortRef } from "../../model/git-ref.ts";
import type { ChangedPaths } from "./changed-paths.ts";

/** What is known of a payload whose event is not known yet. */
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
  nothing: null,
  mergeRequest: null,
  hostDeliveryId: null,
};

export function normalized(known: Partial<NormalizedEvent>): NormalizedEvent {
  return { ...blank, ...known };
}

/** An event that cannot build anything, and why. */
export function nothing(
  code: NonNullable<NormalizedEvent["nothing"]>["code"],
  reason: string,
  known: Partial<NormalizedEvent> = {},
): NormalizedEvent {
  return { ...blank, ...known, nothing: { code, reason } };
}

export function deletionOf(known: Partial<NormalizedEvent>): NormalizedEvent {
  return nothing("ref_deleted", `${known.ref || "A ref"} was deleted; there is nothing to build.`, known);
}

/** All zeros, of any length: the name of "no commit" in SHA-1 and SHA-256 repositories. */
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

/** The part of an event that is of its ref alone. */
export function refChangeOf(event: RefChange): RefChange {
  const { rawRef, ref, refType, commit, message, nothing: because } = event;
  return { event: event.event, rawRef, ref, refType, commit, message, nothing: because };
}
