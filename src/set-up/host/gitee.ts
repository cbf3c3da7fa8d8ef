import { fieldOf, firstDifference, type HostApi, inUrl, textOf, type WantedHook } from "./host-api.ts";

function hookBody({ url, secret }: WantedHook) {
  return {
    url,
    // 0: the password is sent as it is, in X-Gitee-Token.
    encryption_type: 0,
    password: secret,
    push_events: true,
    tag_push_events: true,
    merge_requests_events: true,
  };
}

/** https://gitee.com/api/v5/swagger: postV5ReposOwnerRepoHooks, patchV5ReposOwnerRepoHooksId, postV5ReposOwnerRepoKeys */
export const gitee: HostApi = {
  kind: "gitee",
  baseOf: (origin) => `${origin}/api/v5`,
  authorize(request, token) {
    const headers = { accept: "application/json" };
    const secret = { access_token: token };
    return request.body === undefined
      ? { ...request, headers, query: { ...request.query, ...secret } }
      : { ...request, headers, body: { ...request.body, ...secret } };
  },
  listRepositories: {
    method: "GET",
    path: "/user/repos",
    query: { affiliation: "owner, admin", sort: "pushed", per_page: "100" },
  },
  readRepository: (json) => ({
    path: textOf(json, "full_name"),
    httpsUrl: textOf(json, "html_url"),
    sshUrl: textOf(json, "ssh_url"),
    isPrivate: fieldOf(json, "private") === true,
  }),
  createHook: (path, wanted) => ({
    method: "POST",
    path: `/repos/${inUrl(path)}/hooks`,
    body: hookBody(wanted),
  }),
  updateHook: (path, id, wanted) => ({
    method: "PATCH",
    path: `/repos/${inUrl(path)}/hooks/${id}`,
    body: hookBody(wanted),
  }),
  readHook: (path, id) => ({ method: "GET", path: `/repos/${inUrl(path)}/hooks/${id}` }),
  deleteHook: (path, id) => ({ method: "DELETE", path: `/repos/${inUrl(path)}/hooks/${id}` }),
  compareHook: (json, url) =>
    firstDifference([
      { isWrong: textOf(json, "url") !== url, state: "changed", note: "It has another address." },
      {
        isWrong: fieldOf(json, "push_events") !== true,
        state: "changed",
        note: "It does not send pushes.",
      },
    ]),
  createKey: (path, title, key) => ({
    method: "POST",
    path: `/repos/${inUrl(path)}/keys`,
    body: { title, key },
  }),
  readKey: (path, id) => ({ method: "GET", path: `/repos/${inUrl(path)}/keys/${id}` }),
  deleteKey: (path, id) => ({ method: "DELETE", path: `/repos/${inUrl(path)}/keys/${id}` }),
  // Deploy keys of Gitee can never push.
  isReadOnlyKey: () => true,
};
