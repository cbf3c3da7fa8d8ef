import { reasonText } from "../../reason/reason.ts";
import {
  fieldOf,
  firstDifference,
  type HostApi,
  inUrl,
  listIn,
  missingEvents,
  textOf,
  type WantedHook,
} from "./host-api.ts";

const events = ["push_events", "tag_push_events", "merge_requests_events"];

function hookBody({ url, secret }: WantedHook) {
  return {
    url,
    // 0: the password is sent as it is, in X-Gitee-Token.
    encryption_type: 0,
    password: secret,
    ...Object.fromEntries(events.map((name) => [name, true])),
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
  // Gitee names neither the permissions of a token nor its end.
  tokenFacts: async (_, answer) => ({
    login: textOf(answer.json, "login"),
    scopes: null,
    missing: [],
    expiresAt: null,
  }),
  minSearchLength: 1,
  listRepositories: ({ search, page }) => ({
    method: "GET",
    path: "/user/repos",
    query: {
      ...{ affiliation: "owner, admin", sort: "pushed", per_page: "100", page: String(page) },
      ...(search === "" ? {} : { q: search }),
    },
  }),
  repositoriesIn: listIn,
  listHooks: (path, page) => ({
    method: "GET",
    path: `/repos/${inUrl(path)}/hooks`,
    query: { per_page: "100", page: String(page) },
  }),
  hookUrl: (json) => textOf(json, "url"),
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
      { isWrong: textOf(json, "url") !== url, state: "changed", note: reasonText("note_address") },
      missingEvents(events.filter((name) => fieldOf(json, name) !== true)),
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
