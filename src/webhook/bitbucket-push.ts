import type { NormalizedEvent } from "../model/delivery.ts";
import { unknownPaths } from "./changed-paths.ts";
import { at, isObject, textAt } from "./json-reader.ts";
import { deletionOf, normalized, nothing, pathFieldsOf, refChangeOf, refFieldsOf } from "./normalized.ts";

/** Nobody pushes more refs at once but by mirroring; the rest is not looked at. */
const maxRefs = 1000;

/**
 * A push as Bitbucket sends it: a list of all refs that it changed, without a ref of its own. Those that still exist
 * come first, as a deletion builds nothing.
 */
export function readBitbucketPush(changes: unknown[], author: string): NormalizedEvent {
  const listed = changes.slice(0, maxRefs);
  const [first, ...others] = [
    ...listed.filter((change) => isObject(at(change, "new"))).map((change) => updateOf(change, author)),
    ...listed.filter(isDeletion).map((change) => removalOf(change, author)),
  ];
  if (first === undefined) return nothing("probe", "The body names no ref: a probe of the host.", { author });
  return others.length === 0 ? first : { ...first, otherRefs: others.map(refChangeOf) };
}

function isDeletion(change: unknown): boolean {
  return !isObject(at(change, "new")) && isObject(at(change, "old"));
}

function removalOf(change: unknown, author: string): NormalizedEvent {
  return deletionOf({ ...refFieldsOf(textAt(change, "old", "name"), textAt(change, "old", "type")), author });
}

function updateOf(change: unknown, author: string): NormalizedEvent {
  const commit = textAt(change, "new", "target", "hash");
  return normalized({
    ...refFieldsOf(textAt(change, "new", "name"), textAt(change, "new", "type")),
    commit: commit === "" ? null : commit,
    message: textAt(change, "new", "target", "message"),
    author,
    ...pathFieldsOf(unknownPaths("Bitbucket sends no changed files")),
  });
}
