import { fieldOf, firstDifference, type HostApi, textOf, type WantedHook } from "./host-api.ts";

function hookBody({ url, secret }: WantedHook) {
  return {
    url,
    token: secret,
    push_events: true,
    tag_push_events: true,
    merge_requests_events: true,
    enable_ssl_verification: true,
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
  // 40 is the role Maintainer, which may change webhooks.
  listRepositories: {
    method: "GET",
    path: "/projects",
    query: { membership: "true", min_access_level: "40", simple: "true", per_page: "100" },
  },
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
        note: "GitLab switched it off after failed deliveries.",
      },
      { isWrong: textOf(json, "url") !== url, state: "changed", note: "It has another address." },
      {
        isWrong: fieldOf(json, "push_events") !== true,
        state: "changed",
        note: "It does not send pushes.",
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
