import { newReason } from "../reason/reason.ts";
import { isSameSecret } from "../secrets.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import {
  allEventFields,
  branchFilter,
  dateOf,
  type HostApi,
  missingEventFields,
  otherAddress,
  uncheckedCertificate,
} from "./api/host-api.ts";
import { gitlabEvents } from "./delivery/event-names.ts";
import { at, listAt, textAt } from "./delivery/json-reader.ts";
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

/** https://docs.gitlab.com/api/project_webhooks/ and https://docs.gitlab.com/api/deploy_keys/ */
const api: HostApi = {
  baseOf: (origin) => `${origin}/api/v4`,
  headers: { accept: "application/json" },
  probe: {
    path: "/api/v4/version",
    // Without a token GitLab answers in its own words.
    isAnsweredBy: ({ status, json }) => status === 401 && textAt(json, "message") === "401 Unauthorized",
  },
  /** https://docs.gitlab.com/api/personal_access_tokens/#self-inform; servers before 15.5 do not have it. */
  async tokenFacts(call, answer) {
    const self = await call({ method: "GET", path: "/personal_access_tokens/self" });
    const listed = self.status === 200 ? listAt(self.json, "scopes") : null;
    const scopes = listed?.map(String) ?? null;
    return {
      login: textAt(answer.json, "username"),
      scopes,
      missing: scopes === null || scopes.includes("api") ? [] : ["api"],
      expiresAt: dateOf(textAt(self.json, "expires_at")),
    };
  },
  // Shorter searches find only names that are equal to them.
  minSearchLength: 3,
  // 40 is the role Maintainer, which may change webhooks.
  repositories: ({ search }) => ({
    path: "/projects",
    query: {
      ...{ membership: "true", min_access_level: "40", simple: "true", order_by: "last_activity_at" },
      ...(search === "" ? {} : { search, search_namespaces: "true" }),
    },
  }),
  repositoriesIn: (json) => listAt(json),
  readRepository: (json) => ({
    path: textAt(json, "path_with_namespace"),
    httpsUrl: textAt(json, "http_url_to_repo"),
    sshUrl: textAt(json, "ssh_url_to_repo"),
    isPrivate: textAt(json, "visibility") !== "public",
  }),
  pathOf: (path) => `/projects/${encodeURIComponent(path)}`,
  largestPage: { per_page: "100" },
  hookUrl: (json) => textAt(json, "url"),
  hookBody: ({ url, secret }) => ({
    ...{ url, token: secret, ...allEventFields, enable_ssl_verification: true },
    // Without the strategy, servers that have it would keep a filter by regular expression.
    ...{ push_events_branch_filter: "", branch_filter_strategy: "all_branches" },
  }),
  newHookFields: {},
  updateMethod: "PUT",
  differences(hook, url) {
    const isOff = ["disabled", "temporarily_disabled"].includes(textAt(hook, "alert_status"));
    const isUnfiltered = textAt(hook, "branch_filter_strategy") === "all_branches";
    return [
      { isWrong: isOff, state: "disabled", note: newReason("note_gitlab_off") },
      otherAddress(textAt(hook, "url") !== url),
      missingEventFields(hook),
      branchFilter(isUnfiltered ? "" : textAt(hook, "push_events_branch_filter")),
      uncheckedCertificate(at(hook, "enable_ssl_verification") === false),
    ];
  },
  keys: "deploy_keys",
  readOnlyKeyFields: { can_push: false },
  isReadOnlyKey: (json) => at(json, "can_push") === false,
};

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
  api,
} satisfies GitHost;
