import type { GitHost } from "./git-host.ts";
import { hmacProof } from "./proof/proof.ts";

/** Bitbucket Cloud, and Data Center, whose events begin with `pr:` or are named last. */
export const bitbucket = {
  title: "Bitbucket",
  eventHeaders: ["X-Event-Key"],
  events: {
    "repo:push": "push",
    "pullrequest:created": "merge_request",
    "pullrequest:updated": "merge_request",
    "pullrequest:fulfilled": "merge_request",
    "pullrequest:rejected": "merge_request",
    "repo:refs_changed": "push",
    "pr:opened": "merge_request",
    "pr:from_ref_updated": "merge_request",
    "pr:modified": "merge_request",
    "pr:merged": "merge_request",
    "pr:declined": "merge_request",
    "diagnostics:ping": "ping",
  },
  deliveryIdHeaders: ["X-Request-UUID", "X-Request-Id"],
  proof: hmacProof(["X-Hub-Signature"], { prefix: "sha256=" }),
} satisfies GitHost;
