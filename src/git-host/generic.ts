import type { JsonObject } from "../json.ts";
import { isBranchOrTag } from "../model/git/git-ref.ts";
import { newReason } from "../reason/reason.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import { listedPathsOf } from "./delivery/changed-paths.ts";
import type { NormalizedEvent } from "./delivery/event.ts";
import { firstText, textAt } from "./delivery/json-reader.ts";
import {
  deletionOf,
  isNoCommit,
  normalized,
  pathFieldsOf,
  refFieldsOf,
  skipped,
} from "./delivery/normalized.ts";
import { looksLikeHost, type PayloadParser, parseHostPayload } from "./delivery/payloads.ts";
import type { GitHost } from "./git-host.ts";
import { type ConfiguredProof, hmacProof, type Proof, standardProof, tokenProof } from "./proof/proof.ts";

/** Accepted values of the field `event`. */
const genericKinds = new Map<string, "push" | "tag" | "merge_request" | "ping">([
  ["push", "push"],
  ["tag", "tag"],
  ["tag_push", "tag"],
  ["merge_request", "merge_request"],
  ["pull_request", "merge_request"],
  ["ping", "ping"],
]);

/**
 * Our own format: event, ref, refType, commit, message, author, paths. A body without `event` that looks like a known
 * host's is read as that.
 */
export const parseGenericPayload: PayloadParser = (payload) => {
  const eventName = textAt(payload, "event");
  if (eventName === "" && looksLikeHost(payload)) return parseHostPayload(payload, "", null);
  const ref = textAt(payload, "ref");
  if (eventName === "" && ref === "") return skipped("probe", newReason("probe_nothing"));
  const kind = eventName === "" ? "push" : genericKinds.get(eventName.toLowerCase());
  if (kind === undefined)
    return skipped("event_not_allowed", newReason("event_unknown", { event: eventName }));
  if (kind === "ping") return skipped("probe", newReason("probe_ping"));
  return readGeneric(payload, kind, ref);
};

function readGeneric(
  payload: JsonObject,
  kind: "push" | "tag" | "merge_request",
  ref: string,
): NormalizedEvent {
  const refFields = refFieldsOf(ref, kind === "tag" ? "tag" : textAt(payload, "refType"));
  const commit = textAt(payload, "commit");
  const author = textAt(payload, "author");
  if (isNoCommit(commit)) return deletionOf({ ...refFields, author });
  const message = textAt(payload, "message");
  const known = {
    ...refFields,
    commit: commit === "" ? null : commit,
    message,
    author,
    ...pathFieldsOf(listedPathsOf(payload)),
  };
  if (kind !== "merge_request") return normalized(known);
  return normalized({
    ...known,
    event: "merge_request",
    mergeRequest: {
      action: null,
      title: textAt(payload, "title"),
      sourceBranch: refFields.ref,
      targetBranch: firstText(textAt(payload, "targetBranch"), refFields.ref),
      // The format has no field for forks. The project's own code is in branches and tags, so another ref counts as a fork.
      fromFork: refFields.rawRef !== "" && !isBranchOrTag(refFields.rawRef),
    },
  });
}

function configuredProof(config: ConfiguredProof): Proof {
  const { verifyMode, secretHeader, signaturePrefix, signatureEncoding } = config;
  if (verifyMode === "standard") return standardProof;
  const proof =
    verifyMode === "token"
      ? tokenProof(secretHeader)
      : hmacProof([secretHeader], { prefix: signaturePrefix, encoding: signatureEncoding });
  return { ...proof, parameter: config.secretQuery };
}

/** Any sender of JSON. */
export const generic = {
  title: "Any sender",
  eventHeaders: [],
  events: {},
  deliveryIdHeaders: ["X-Delivery-Id", "Idempotency-Key", standardHeaders.id],
  proof: configuredProof,
  parse: parseGenericPayload,
} satisfies GitHost;
