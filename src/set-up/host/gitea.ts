import { github } from "./github.ts";
import {
  branchFilter,
  fieldOf,
  firstDifference,
  type HostApi,
  inUrl,
  listIn,
  textOf,
  type WantedHook,
} from "./host-api.ts";

function hookBody({ url, secret }: WantedHook) {
  return {
    active: true,
    events: ["push", "create", "pull_request", "pull_request_sync"],
    config: { url, content_type: "json", secret },
    branch_filter: "*",
  };
}

/** The reference is at /api/swagger of every server: repoCreateHook, repoEditHook, repoCreateKey. */
export const gitea: HostApi = {
  ...github,
  kind: "gitea",
  baseOf: (origin) => `${origin}/api/v1`,
  authorize: (request, token) => ({
    ...request,
    headers: { authorization: `token ${token}`, accept: "application/json" },
  }),
  /** A token cannot list its scopes. A change of a webhook that cannot exist is refused for its scopes first. */
  async tokenFacts(call, answer) {
    const login = textOf(answer.json, "login");
    const path = `/repos/${encodeURIComponent(login)}/slipway/hooks/0`;
    const probe = await call({ method: "PATCH", path, body: {} });
    const message = textOf(probe.json, "message");
    const held = /token scope=([\w:,]*)/.exec(message)?.[1];
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
  listRepositories: ({ search, page, userId }) => ({
    method: "GET",
    path: "/repos/search",
    query: { uid: userId, q: search, sort: "updated", order: "desc", limit: "50", page: String(page) },
  }),
  repositoriesIn: (json) => listIn(fieldOf(json, "data")),
  listHooks: (path, page) => ({
    method: "GET",
    path: `/repos/${inUrl(path)}/hooks`,
    query: { limit: "50", page: String(page) },
  }),
  createHook: (path, wanted) => ({
    method: "POST",
    path: `/repos/${inUrl(path)}/hooks`,
    body: { type: "gitea", ...hookBody(wanted) },
  }),
  updateHook: (path, id, wanted) => ({
    method: "PATCH",
    path: `/repos/${inUrl(path)}/hooks/${id}`,
    body: hookBody(wanted),
  }),
  compareHook(json, url) {
    const found = github.compareHook(json, url);
    return found.state === "ok" ? firstDifference([branchFilter(textOf(json, "branch_filter"))]) : found;
  },
  isReadOnlyKey: (json) => fieldOf(json, "read_only") === true,
};
