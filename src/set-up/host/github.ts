import { reasonText } from "../../reason/reason.ts";
import {
  dateOf,
  fieldOf,
  firstDifference,
  type HostApi,
  inUrl,
  listIn,
  missingEvents,
  textOf,
  type WantedHook,
} from "./host-api.ts";

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
  /**
   * https://docs.github.com/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps: answers name the scopes of a classic
   * token in X-OAuth-Scopes; `repo` includes webhooks and deploy keys. Fine-grained tokens have no such header.
   */
  async tokenFacts(_, answer) {
    const listed = answer.header("x-oauth-scopes");
    const isFineGrained = listed === "" && answer.header("x-accepted-oauth-scopes") === "";
    const scopes = isFineGrained ? null : listed.split(",").flatMap((scope) => scope.trim() || []);
    const mayManage = (names: string[]) =>
      names.includes("repo") || (names.includes("public_repo") && names.includes("admin:repo_hook"));
    return {
      login: textOf(answer.json, "login"),
      scopes,
      missing: scopes === null || mayManage(scopes) ? [] : ["repo"],
      expiresAt: dateOf(answer.header("github-authentication-token-expiration")),
    };
  },
  minSearchLength: null,
  // Without `affiliation` the list has the repositories of organizations and those of others too.
  listRepositories: ({ page }) => ({
    method: "GET",
    path: "/user/repos",
    query: { per_page: "100", sort: "pushed", page: String(page) },
  }),
  repositoriesIn: listIn,
  listHooks: (path, page) => ({
    method: "GET",
    path: `/repos/${inUrl(path)}/hooks`,
    query: { per_page: "100", page: String(page) },
  }),
  hookUrl: (json) => textOf(json, "config", "url"),
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
      { isWrong: fieldOf(json, "active") !== true, state: "disabled", note: reasonText("note_off") },
      { isWrong: textOf(json, "config", "url") !== url, state: "changed", note: reasonText("note_address") },
      {
        isWrong: textOf(json, "config", "content_type") !== "json",
        state: "changed",
        note: reasonText("note_type"),
      },
      missingEvents(names.includes("*") ? [] : events.filter((name) => !names.includes(name))),
      {
        isWrong: ["1", 1].includes(fieldOf(json, "config", "insecure_ssl") as string | number),
        state: "changed",
        note: reasonText("note_certificate"),
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
