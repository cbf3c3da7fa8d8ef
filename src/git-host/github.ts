import { newReason } from "../reason/reason.ts";
import { dateOf, type HostApi, missingEvents, otherAddress, uncheckedCertificate } from "./api/host-api.ts";
import { githubEvents } from "./delivery/event-names.ts";
import { inUrl } from "./delivery/in-url.ts";
import { at, isTrueAt, listAt, textAt } from "./delivery/json-reader.ts";
import type { GitHost } from "./git-host.ts";
import { githubPages } from "./pages.ts";
import { hmacProof } from "./proof/proof.ts";
import { githubStatuses } from "./status/status-api.ts";

const baseOf = (origin: string) =>
  origin === "https://github.com" ? "https://api.github.com" : `${origin}/api/v3`;

/** Without `create`: a new branch or tag is announced by `push` too. */
const events = ["push", "pull_request"];

/** https://docs.github.com/rest/repos/webhooks and https://docs.github.com/rest/deploy-keys/deploy-keys */
const api: HostApi = {
  baseOf,
  headers: { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28" },
  probe: {
    path: "/api/v3/",
    isAnsweredBy: ({ status, json }) => status === 200 && at(json, "current_user_url") !== undefined,
  },
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
      login: textAt(answer.json, "login"),
      scopes,
      missing: scopes === null || mayManage(scopes) ? [] : ["repo"],
      expiresAt: dateOf(answer.header("github-authentication-token-expiration")),
    };
  },
  minSearchLength: null,
  // Without `affiliation` the list has the repositories of organizations and those of others too.
  repositories: () => ({ path: "/user/repos", query: { sort: "pushed" } }),
  repositoriesIn: (json) => listAt(json),
  readRepository: (json) =>
    isTrueAt(json, "permissions", "admin")
      ? {
          path: textAt(json, "full_name"),
          httpsUrl: textAt(json, "clone_url"),
          sshUrl: textAt(json, "ssh_url"),
          isPrivate: isTrueAt(json, "private"),
        }
      : null,
  pathOf: (path) => `/repos/${inUrl(path)}`,
  largestPage: { per_page: "100" },
  hookUrl: (json) => textAt(json, "config", "url"),
  hookBody: ({ url, secret }) => ({
    ...{ active: true, events, config: { url, content_type: "json", secret, insecure_ssl: "0" } },
  }),
  newHookFields: { name: "web" },
  updateMethod: "PATCH",
  differences(hook, url) {
    const names = listAt(hook, "events") ?? [];
    return [
      { isWrong: !isTrueAt(hook, "active"), state: "disabled", note: newReason("note_off") },
      otherAddress(textAt(hook, "config", "url") !== url),
      { isWrong: textAt(hook, "config", "content_type") !== "json", note: newReason("note_type") },
      missingEvents(names.includes("*") ? [] : events.filter((name) => !names.includes(name))),
      uncheckedCertificate(textAt(hook, "config", "insecure_ssl") === "1"),
    ];
  },
  keys: "keys",
  readOnlyKeyFields: { read_only: true },
  isReadOnlyKey: (json) => isTrueAt(json, "read_only"),
};

export const github = {
  title: "GitHub",
  servers: ["github.com"],
  serverWords: ["github"],
  eventHeaders: ["X-GitHub-Event"],
  events: githubEvents,
  deliveryIdHeaders: ["X-GitHub-Delivery"],
  proof: hmacProof(["X-Hub-Signature-256"], { prefix: "sha256=" }),
  pages: githubPages,
  token: { headersOf: (token) => ({ authorization: `Bearer ${token}` }) },
  statuses: [{ proof: "bearer", ...githubStatuses(baseOf, "per_page=100") }],
  api,
} satisfies GitHost;
