import { fieldOf, firstDifference, type HostApi, inUrl, textOf, type WantedHook } from "./host-api.ts";

const events = ["push", "create", "pull_request"];

function hookBody({ url, secret }: WantedHook) {
  return {
    active: true,
    events,
    config: { url, content_type: "json", secret, insecure_ssl: "0" },
  };
}

/** https://docs.github.com/rest/repos/webhooks and https://docs.github.com/rest/deploy-keys/deploy-keys */
export const github: HostApi = {
  kind: "github",
  baseOf: (origin) => (origin === "https://github.com" ? "https://api.github.com" : `${origin}/api/v3`),
  authorize: (request, token) => ({
    ...request,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
    },
  }),
  listRepositories: { method: "GET", path: "/user/repos", query: { per_page: "100", sort: "pushed" } },
  readRepository: (json) =>
    fieldOf(json, "permissions", "admin") === true
      ? {
          path: textOf(json, "full_name"),
          httpsUrl: textOf(json, "clone_url"),
          sshUrl: textOf(json, "ssh_url"),
          isPrivate: fieldOf(json, "private") === true,
        }
      : null,
  createHook: (path, wanted) => ({
    method: "POST",
    path: `/repos/${inUrl(path)}/hooks`,
    body: { name: "web", ...hookBody(wanted) },
  }),
  updateHook: (path, id, wanted) => ({
    method: "PATCH",
    path: `/repos/${inUrl(path)}/hooks/${id}`,
    body: hookBody(wanted),
  }),
  readHook: (path, id) => ({ method: "GET", path: `/repos/${inUrl(path)}/hooks/${id}` }),
  deleteHook: (path, id) => ({ method: "DELETE", path: `/repos/${inUrl(path)}/hooks/${id}` }),
  compareHook(json, url) {
    const listed = fieldOf(json, "events");
    const names = Array.isArray(listed) ? listed : [];
    return firstDifference([
      { isWrong: fieldOf(json, "active") !== true, state: "disabled", note: "It is switched off." },
      { isWrong: textOf(json, "config", "url") !== url, state: "changed", note: "It has another address." },
      {
        isWrong: textOf(json, "config", "content_type") !== "json",
        state: "changed",
        note: "Its content type is not JSON.",
      },
      {
        isWrong: !names.includes("push") && !names.includes("*"),
        state: "changed",
        note: "It does not send pushes.",
      },
    ]);
  },
  createKey: (path, title, key) => ({
    method: "POST",
    path: `/repos/${inUrl(path)}/keys`,
    body: { title, key, read_only: true },
  }),
  readKey: (path, id) => ({ method: "GET", path: `/repos/${inUrl(path)}/keys/${id}` }),
  deleteKey: (path, id) => ({ method: "DELETE", path: `/repos/${inUrl(path)}/keys/${id}` }),
  isReadOnlyKey: (json) => fieldOf(json, "read_only") === true,
};
