import { isSameSecret } from "../secrets.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import { gitlabEvents } from "./delivery/event-names.ts";
import type { GitHost } from "./git-host.ts";
import { type Proof, standardProof, tokenProof } from "./proof/proof.ts";
import { isAmong, statusWords } from "./status/status-api.ts";

/** A signing token makes a signature of Standard Webhooks; a secret token is sent itself. */
const eitherProof: Proof = {
  ...tokenProof("X-Gitlab-Token", ...standardProof.headers),
  acceptsStandard: true,
  isSignedBy: (secret, given, request, nowMs) =>
    isSameSecret(given, secret) || standardProof.isSignedBy(secret, given, request, nowMs),
};

const words = statusWords({
  ...{ pending: "pending", running: "running", success: "success", failed: "failed" },
  ...{ canceled: "canceled", replaced: "canceled", skipped: "skipped" },
});

export const gitlab = {
  title: "GitLab",
  servers: ["gitlab.com"],
  serverWords: ["gitlab"],
  eventHeaders: ["X-Gitlab-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: ["Idempotency-Key", standardHeaders.id, "X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID"],
  proof: eitherProof,
  pages: {
    commit: "-/commit/{commit}",
    branch: "-/tree/{ref}",
    tag: "-/tags/{ref}",
    mergeRequest: "-/merge_requests/{number}",
    compare: "-/compare/{from}...{to}",
  },
  token: { headersOf: (token) => ({ "private-token": token }) },
  statuses: [
    {
      proof: "private-token",
      urlOf: ({ origin, path }, commit) =>
        `${origin}/api/v4/projects/${encodeURIComponent(path)}/statuses/${commit}`,
      bodyOf: ({ state, description, targetUrl, context }) => ({
        ...{ state: words[state], description, target_url: targetUrl, name: context },
      }),
      lookUpUrl: (url, { name }) =>
        `${url.replace(/\/statuses\/([^/]+)$/, "/repository/commits/$1/statuses")}?name=${encodeURIComponent(String(name))}`,
      isListed: (answer, { name }) => isAmong(answer, answer.json, { name }),
    },
  ],
} satisfies GitHost;
