import { branchFilter, type HostApi } from "./api/host-api.ts";
import { githubEvents } from "./delivery/event-names.ts";
import { listAt, textAt } from "./delivery/json-reader.ts";
import type { GitHost } from "./git-host.ts";
import { github } from "./github.ts";
import { giteaPages } from "./pages.ts";
import { hmacProof } from "./proof/proof.ts";
import { githubStatuses } from "./status/status-api.ts";

const baseOf = (origin: string) => `${origin}/api/v1`;

/** The reference is at /api/swagger of every server: repoCreateHook, repoEditHook, repoCreateKey. */
const api: HostApi = {
  ...github.api,
  baseOf,
  headers: { accept: "application/json" },
  probe: {
    path: "/api/v1/version",
    isAnsweredBy: ({ status, json }) => status === 200 && textAt(json, "version") !== "",
  },
  /** A token cannot list its scopes. A change of a webhook that cannot exist is refused for its scopes first. */
  async tokenFacts(call, answer) {
    const login = textAt(answer.json, "login");
    const path = `/repos/${encodeURIComponent(login)}/slipway/hooks/0`;
    const probe = await call({ method: "PATCH", path, body: {} });
    const held = /token scope=([\w:,]*)/.exec(textAt(probe.json, "message"))?.[1];
    const lacksScope = probe.status === 403 && held !== undefined;
    return {
      login,
      scopes: lacksScope ? held.split(",") : ["read:user", "write:repository"],
      missing: lacksScope ? ["write:repository"] : [],
      expiresAt: null,
    };
  },
  minSearchLength: 1,
  // `uid` limits the search to repositories that the user owns or may access as a member.
  repositories: ({ search, userId }) => ({
    path: "/repos/search",
    query: { uid: userId, q: search, sort: "updated", order: "desc" },
  }),
  repositoriesIn: (json) => listAt(json, "data"),
  largestPage: { limit: "50" },
  hookBody: ({ url, secret }) => ({
    active: true,
    events: ["push", "pull_request", "pull_request_sync"],
    config: { url, content_type: "json", secret },
    branch_filter: "*",
  }),
  newHookFields: { type: "gitea" },
  differences: (hook, url) => [
    ...github.api.differences(hook, url),
    branchFilter(textAt(hook, "branch_filter")),
  ],
};

export const gitea = {
  title: "Gitea, Forgejo",
  servers: ["codeberg.org", "gitea.com"],
  serverWords: ["gitea", "forgejo"],
  eventHeaders: ["X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event"],
  events: { ...githubEvents, pull_request_sync: "merge_request" },
  deliveryIdHeaders: ["X-Gitea-Delivery", "X-Forgejo-Delivery"],
  proof: hmacProof(["X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"], {
    ...{ prefix: "sha256=", signsFormPayload: true },
  }),
  pages: giteaPages,
  token: { headersOf: (token) => ({ authorization: `token ${token}` }) },
  statuses: [{ proof: "token", ...githubStatuses(baseOf, "limit=50") }],
  api,
} satisfies GitHost;
