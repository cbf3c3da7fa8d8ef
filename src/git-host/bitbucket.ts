import { inUrl } from "./delivery/in-url.ts";
import type { GitHost } from "./git-host.ts";
import { hmacProof } from "./proof/proof.ts";
import { type LookUpAnswer, type StatusReport, shortened, statusWords } from "./status/status-api.ts";

const cloud = "https://bitbucket.org";

const words = statusWords({
  ...{ pending: "INPROGRESS", success: "SUCCESSFUL", failed: "FAILED", canceled: "STOPPED" },
});

/** The key is an identifier of at most 40 characters; people see the name. */
function bodyOf({ state, description, targetUrl, context }: StatusReport) {
  return { key: shortened(context, 40), state: words[state], name: context, url: targetUrl, description };
}

function isBuildFound({ status }: LookUpAnswer): boolean | "unknown" {
  if (status === 404) return false;
  return status === 200 ? true : "unknown";
}

/** Bitbucket Cloud, and Data Center, whose events begin with `pr:` or are named last. */
export const bitbucket = {
  title: "Bitbucket",
  servers: ["bitbucket.org"],
  serverWords: ["bitbucket"],
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
  pages: {
    onlyAt: cloud,
    commit: "commits/{commit}",
    branch: "branch/{ref}",
    tag: "src/{ref}",
    mergeRequest: "pull-requests/{number}",
    compare: "branches/compare/{to}..{from}",
  },
  token: {
    // There are access tokens, and tokens of a user, which are written as `user:token`.
    headersOf: (token) => ({
      authorization: token.includes(":") ? `Basic ${btoa(token)}` : `Bearer ${token}`,
    }),
  },
  statuses: [
    {
      proof: "bitbucket",
      onlyAt: cloud,
      urlOf: ({ path }, commit) =>
        `https://api.bitbucket.org/2.0/repositories/${inUrl(path)}/commit/${commit}/statuses/build`,
      bodyOf,
      lookUpUrl: (url, { key }) => `${url}/${encodeURIComponent(String(key))}`,
      isListed: isBuildFound,
    },
    {
      proof: "bitbucket-server",
      urlOf: ({ origin, path }, commit) => {
        // Clone addresses over http have the prefix scm; those over ssh do not.
        const [project = "", repository = ""] = path
          .replace(/^scm\//, "")
          .split("/")
          .map(encodeURIComponent);
        return `${origin}/rest/api/latest/projects/${project}/repos/${repository}/commits/${commit}/builds`;
      },
      bodyOf: (report) => ({
        ...bodyOf(report),
        ...(report.state === "canceled" ? { state: "CANCELLED" } : {}),
      }),
      lookUpUrl: (url, { key }) => `${url}?key=${encodeURIComponent(String(key))}`,
      isListed: isBuildFound,
    },
  ],
} satisfies GitHost;
