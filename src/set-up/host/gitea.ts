import { github } from "./github.ts";
import { fieldOf, type HostApi, inUrl, type WantedHook } from "./host-api.ts";

function hookBody({ url, secret }: WantedHook) {
  return {
    active: true,
    events: ["push", "create", "pull_request", "pull_request_sync"],
    config: { url, content_type: "json", secret },
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
  listRepositories: { method: "GET", path: "/user/repos", query: { limit: "50" } },
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
  isReadOnlyKey: (json) => fieldOf(json, "read_only") === true,
};
