import { reasonText } from "../../reason/reason.ts";
import {
  branchFilter,
  dateOf,
  fieldOf,
  firstDifference,
  type HostApi,
  listIn,
  missingEvents,
  textOf,
  type WantedHook,
} from "./host-api.ts";

const events = ["push_events", "tag_push_events", "merge_requests_events"];

function hookBody({ url, secret }: WantedHook) {
  return {
    url,
    token: secret,
    ...Object.fromEntries(events.map((name) => [name, true])),
    enable_ssl_verification: true,
    // Without the strategy, servers that have it would keep a filter by regular expression.
    ...{ push_events_branch_filter: "", branch_filter_strategy: "all_branches" },
  };
}

const projectPath = (path: string) => `/projects/${encodeURIComponent(path)}`;

/** https://docs.gitlab.com/api/project_webhooks/ and https://docs.gitlab.com/api/deploy_keys/ */
export const gitlab: HostApi = {
  kind: "gitlab",
  baseOf: (origin) => `${origin}/api/v4`,
  authorize: (request, token) => ({
    ...request,
    headers: { "private-token": token, accept: "application/json" },
  }),
  /** https://docs.gitlab.com/api/personal_access_tokens/#self-inform; servers before 15.5 do not have it. */
  async tokenFacts(call, answer) {
    const self = await call({ method: "GET", path: "/personal_access_tokens/self" });
    const listed = self.status === 200 ? listIn(fieldOf(self.json, "scopes")) : null;
    const scopes = listed?.map(String) ?? null;
    return {
      login: textOf(answer.json, "username"),
      scopes,
      missing: scopes === null || scopes.includes("api") ? [] : ["api"],
      expiresAt: dateOf(textOf(self.json, "expires_at")),
    };
  },
  // Shorter searches find only names that are equal to them.
  minSearchLength: 3,
  // 40 is the role Maintainer, which may change webhooks.
  listRepositories: ({ search, page }) => ({
    method: "GET",
    path: "/projects",
    query: {
      ...{ membership: "true", min_access_level: "40", simple: "true", order_by: "last_activity_at" },
      ...{ per_page: "100", page: String(page) },
      ...(search === "" ? {} : { search, search_namespaces: "true" }),
    },
  }),
  repositoriesIn: listIn,
  listHooks: (path, page) => ({
    method: "GET",
    path: `${projectPath(path)}/hooks`,
    query: { per_page: "100", page: String(page) },
  }),
  hookUrl: (json) => textOf(json, "url"),
  readRepository: (json) => ({
    path: textOf(json, "path_with_namespace"),
    httpsUrl: textOf(json, "http_url_to_repo"),
    sshUrl: textOf(json, "ssh_url_to_repo"),
    isPrivate: textOf(json, "visibility") !== "public",
  }),
  createHook: (path, wanted) => ({
    method: "POST",
    path: `${projectPath(path)}/hooks`,
    body: hookBody(wanted),
  }),
  updateHook: (path, id, wanted) => ({
    method: "PUT",
    path: `${projectPath(path)}/hooks/${id}`,
    body: hookBody(wanted),
  }),
  readHook: (path, id) => ({ method: "GET", path: `${projectPath(path)}/hooks/${id}` }),
  deleteHook: (path, id) => ({ method: "DELETE", path: `${projectPath(path)}/hooks/${id}` }),
  compareHook(json, url) {
    const alert = textOf(json, "alert_status");
    return firstDifference([
      {
        isWrong: alert === "disabled" || alert === "temporarily_disabled",
        state: "disabled",
        note: reasonText("note_gitlab_off"),
      },
      { isWrong: textOf(json, "url") !== url, state: "changed", note: reasonText("note_address") },
      missingEvents(events.filter((name) => fieldOf(json, name) !== true)),
      branchFilter(
        textOf(json, "branch_filter_strategy") === "all_branches"
          ? ""
          : textOf(json, "push_events_branch_filter"),
      ),
      {
        isWrong: fieldOf(json, "enable_ssl_verification") === false,
        state: "changed",
        note: reasonText("note_certificate"),
      },
    ]);
  },
  createKey: (path, title, key) => ({
    method: "POST",
    path: `${projectPath(path)}/deploy_keys`,
    body: { title, key, can_push: false },
  }),
  readKey: (path, id) => ({ method: "GET", path: `${projectPath(path)}/deploy_keys/${id}` }),
  deleteKey: (path, id) => ({ method: "DELETE", path: `${projectPath(path)}/deploy_keys/${id}` }),
  isReadOnlyKey: (json) => fieldOf(json, "can_push") === false,
};
