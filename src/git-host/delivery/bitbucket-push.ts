import { isObject, type JsonObject } from "../../json.ts";
import { newReason } from "../../reason/reason.ts";
import { unknownPaths } from "./changed-paths.ts";
import type { NormalizedEvent } from "./event.ts";
import { at, firstText, listAt, textAt } from "./json-reader.ts";
import {
  deletionOf,
  isNoCommit,
  normalized,
  pathFieldsOf,
  refChangeOf,
  refFieldsOf,
  skipped,
} from "./normalized.ts";

/** Only mirroring pushes more refs at once; further refs are ignored. */
const maxRefs = 1000;

/** The ref changes of a Bitbucket push: under `push` in Cloud, at the top level in Data Center. Null: no Bitbucket push. */
export function bitbucketChangesOf(payload: JsonObject): unknown[] | null {
  const cloud = listAt(payload, "push", "changes");
  if (cloud !== null) return cloud;
  const dataCenter = listAt(payload, "changes");
  return dataCenter?.some((change) => isObject(at(change, "ref"))) ? dataCenter : null;
}

/** Existing refs come first, because a deleted ref builds nothing. */
export function readBitbucketPush(
  payload: JsonObject,
  changes: readonly unknown[],
  author: string,
): NormalizedEvent {
  const read = changes
    .slice(0, maxRefs)
    .flatMap((change) => (isObject(at(change, "ref")) ? ofDataCenter(payload, change) : ofCloud(change)))
    .map((event) => ({ ...event, author }));
  const [first, ...others] = [
    ...read.filter((event) => event.skip === null),
    ...read.filter((event) => event.skip !== null),
  ];
  if (first === undefined) return skipped("probe", newReason("probe_no_ref"), { author });
  return others.length === 0 ? first : { ...first, otherRefs: others.map(refChangeOf) };
}

function ofCloud(change: unknown): NormalizedEvent[] {
  const [updated, old] = [at(change, "new"), at(change, "old")];
  if (isObject(updated)) {
    const target = {
      commit: textAt(updated, "target", "hash"),
      message: textAt(updated, "target", "message"),
    };
    return [updateOf(refFieldsOf(textAt(updated, "name"), textAt(updated, "type")), target)];
  }
  return isObject(old) ? [deletionOf(refFieldsOf(textAt(old, "name"), textAt(old, "type")))] : [];
}

/** Data Center describes only the commit of the last change, outside of the list. */
function ofDataCenter(payload: JsonObject, change: unknown): NormalizedEvent[] {
  const refFields = refFieldsOf(firstText(textAt(change, "ref", "id"), textAt(change, "refId")), "");
  const commit = textAt(change, "toHash");
  if (isNoCommit(commit) || textAt(change, "type") === "DELETE") return [deletionOf(refFields)];
  const isDescribed = commit !== "" && textAt(payload, "toCommit", "id") === commit;
  return [
    updateOf(refFields, { commit, message: isDescribed ? textAt(payload, "toCommit", "message") : "" }),
  ];
}

function updateOf(
  refFields: Partial<NormalizedEvent>,
  { commit, message }: { commit: string; message: string },
): NormalizedEvent {
  return normalized({
    ...refFields,
    commit: commit === "" ? null : commit,
    message,
    ...pathFieldsOf(unknownPaths(newReason("paths_bitbucket"))),
  });
}
