import { isObject, type JsonObject } from "../../json.ts";
import { newReason } from "../../reason/reason.ts";
import { bitbucketChangesOf } from "./bitbucket-push.ts";
import type { NormalizedEvent } from "./event.ts";
import { at, firstText, textAt } from "./json-reader.ts";
import { readMergeRequest } from "./merge-request-payload.ts";
import { skipped } from "./normalized.ts";
import { readCreate, readDelete, readPush } from "./push-payload.ts";

/** The kind of an event, by the host's name for it; `by_body`: the body decides. */
export type EventKind = "push" | "tag" | "create" | "delete" | "merge_request" | "ping" | "by_body";

export type PayloadParser = (
  payload: JsonObject,
  eventName: string,
  kind: EventKind | null,
) => NormalizedEvent;

/** Parses the payloads of all Git hosts: by the name of the event if it is sent, otherwise by the shape of the body. */
export const parseHostPayload: PayloadParser = (payload, eventName, kind) => {
  if (kind === null && eventName !== "")
    return skipped("event_not_allowed", newReason("event_never", { event: eventName }));
  const actual = kind === null || kind === "by_body" ? kindByBody(payload) : kind;
  switch (actual) {
    case null:
      return unknownOf(payload);
    case "ping":
      return skipped("probe", newReason("probe_host_ping"));
    case "create":
      return readCreate(payload);
    case "delete":
      return readDelete(payload);
    case "merge_request":
      return readMergeRequest(payload, eventName);
    default:
      return readPush(payload, actual === "tag");
  }
};

const kindByName = new Map<string, "push" | "tag" | "merge_request">([
  ["push", "push"],
  ["push_hooks", "push"],
  ["tag_push", "tag"],
  ["tag_push_hooks", "tag"],
  ["merge_request", "merge_request"],
  ["merge_request_hooks", "merge_request"],
]);

/** Fields of a merge request: GitHub and similar hosts, Bitbucket Cloud, Bitbucket Data Center. */
const requestNames = ["pull_request", "pullrequest", "pullRequest"];

function kindByBody(payload: JsonObject): Exclude<EventKind, "by_body"> | null {
  const named = kindByName.get(firstText(textAt(payload, "object_kind"), textAt(payload, "hook_name")));
  if (named !== undefined) return named;
  if (requestNames.some((name) => isObject(at(payload, name)))) return "merge_request";
  if (bitbucketChangesOf(payload) !== null) return "push";
  if (textAt(payload, "zen") !== "") return "ping";
  if (textAt(payload, "ref") === "") return null;
  return textAt(payload, "ref_type") !== "" && textAt(payload, "after") === "" ? "create" : "push";
}

/** A body without a ref is a probe, unless it names another event, such as a comment or a new user. */
function unknownOf(payload: JsonObject): NormalizedEvent {
  const name = firstText(...["object_kind", "hook_name", "event_name"].map((key) => textAt(payload, key)));
  if (name === "") return skipped("probe", newReason("probe_no_ref"));
  return skipped("event_not_allowed", newReason("event_never", { event: name.slice(0, 100) }));
}

/** Whether the body looks like one of a known host. */
export function looksLikeHost(payload: JsonObject): boolean {
  const marks = [
    "after",
    "commits",
    "head_commit",
    "object_kind",
    "hook_name",
    ...requestNames,
    "push",
    "zen",
  ];
  return marks.some((mark) => Object.hasOwn(payload, mark)) || bitbucketChangesOf(payload) !== null;
}
