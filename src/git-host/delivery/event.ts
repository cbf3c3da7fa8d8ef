import type { Reason } from "../../reason/reason.ts";
/** The content of a payload, in one shape for all Git hosts. */
export interface NormalizedEvent {
  event: "push" | "tag" | "merge_request" | null;
  /** Name of the event as the host sent it. */
  rawEvent: string;
  /** Full ref where known: refs/heads/main, refs/tags/v1. */
  rawRef: string;
  /** Short name. */
  ref: string;
  refType: "branch" | "tag" | null;
  commit: string | null;
  /** What the ref itself names where that is not the commit: the object of an annotated tag. Absent elsewhere. */
  tagObject?: string;
  /** Whole message of the head commit (merge request: title, then message). */
  message: string;
  author: string;
  /** Null: unknown (absent or known to be incomplete). */
  paths: string[] | null;
  /** Why paths is null, for the reason text. */
  pathsUnknownBecause: Reason | null;
  /** The commit before the push, where the host's list of commits is cut: the host can be asked for the rest. Absent elsewhere. */
  before?: string;
  /** Why the event can build nothing, whatever the rules of the project; null if it can build. */
  skip: { code: "probe" | "ref_deleted" | "event_not_allowed"; reason: Reason } | null;
  mergeRequest: {
    action: string | null;
    title: string;
    sourceBranch: string;
    targetBranch: string;
    fromFork: boolean;
    /** Absent where the host names none. */
    number?: string;
    isMerged?: boolean;
  } | null;
  /** Addresses of the repository as the host names it; absent where it names none. */
  repository?: string[];
  /** The host's own delivery id. */
  hostDeliveryId: string | null;
  /** Users who sent it by hand, as a test or a replay. Absent for a delivery of a host. */
  sentBy?: string[];
  /** The other refs of a push that names several. Absent where it names one, as on most hosts. */
  otherRefs?: RefChange[];
}

/** The change of one ref by a push. */
export type RefChange = Pick<
  NormalizedEvent,
  "event" | "rawRef" | "ref" | "refType" | "commit" | "message" | "skip"
>;
