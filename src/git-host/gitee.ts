import { isSameSecret } from "../secrets.ts";
import { allEventFields, type HostApi, missingEventFields, otherAddress } from "./api/host-api.ts";
import { gitlabEvents } from "./delivery/event-names.ts";
import { firstHeader } from "./delivery/headers.ts";
import { inUrl } from "./delivery/in-url.ts";
import { at, isTrueAt, listAt, textAt } from "./delivery/json-reader.ts";
import type { GitHost } from "./git-host.ts";
import { githubPages } from "./pages.ts";
import { hmacOf, type Proof, type SignedRequest, tokenProof } from "./proof/proof.ts";
import { isAmong, statusWords } from "./status/status-api.ts";

/** As Gitee specifies. */
const toleranceMs = 3_600_000;

const timestampOf = ({ headers }: SignedRequest) => firstHeader(headers, ["X-Gitee-Timestamp"]);

/** Password mode sends the secret; sign mode sends base64(HMAC(secret, timestamp LF secret)), valid for an hour. */
const passwordOrSignature: Proof = {
  ...tokenProof("X-Gitee-Token"),
  sentAtMs: (request) => Number(timestampOf(request)),
  isSignedBy(secret, given, request, nowMs) {
    if (isSameSecret(given, secret)) return true;
    const timestamp = timestampOf(request);
    const sentAtMs = /^\d{10,16}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
    const expected = hmacOf(secret, Buffer.from(`${timestamp}\n${secret}`)).toString("base64");
    const isSigned = isSameSecret(given, expected) || isSameSecret(given, encodeURIComponent(expected));
    return isSigned && Math.abs(nowMs - sentAtMs) <= toleranceMs;
  },
};

const ended = (conclusion: string) => ({ status: "completed", conclusion });

/** A check run has a status, and a conclusion once it is completed. */
const words = statusWords<object>({
  ...{ pending: { status: "queued" }, running: { status: "in_progress" } },
  ...{ success: ended("success"), failed: ended("failure"), timeout: ended("timed_out") },
  ...{ canceled: ended("cancelled"), replaced: ended("neutral"), skipped: ended("skipped") },
});

const checkRunsIn = (json: unknown) => (Array.isArray(json) ? json : listAt(json, "check_runs"));

/** https://gitee.com/api/v5/swagger: postV5ReposOwnerRepoHooks, patchV5ReposOwnerRepoHooksId, postV5ReposOwnerRepoKeys */
const api: HostApi = {
  baseOf: (origin) => `${origin}/api/v5`,
  headers: { accept: "application/json" },
  // Gitee names neither the permissions of a token nor its end.
  tokenFacts: async (_, answer) => ({
    ...{ login: textAt(answer.json, "login"), scopes: null, missing: [], expiresAt: null },
  }),
  minSearchLength: 1,
  repositories: ({ search }) => ({
    path: "/user/repos",
    query: { affiliation: "owner, admin", sort: "pushed", ...(search === "" ? {} : { q: search }) },
  }),
  repositoriesIn: (json) => listAt(json),
  readRepository: (json) => ({
    path: textAt(json, "full_name"),
    httpsUrl: textAt(json, "html_url"),
    sshUrl: textAt(json, "ssh_url"),
    isPrivate: isTrueAt(json, "private"),
  }),
  pathOf: (path) => `/repos/${inUrl(path)}`,
  largestPage: { per_page: "100" },
  hookUrl: (json) => textAt(json, "url"),
  // 0: the password is sent as it is, in X-Gitee-Token.
  hookBody: ({ url, secret }) => ({ url, encryption_type: 0, password: secret, ...allEventFields }),
  newHookFields: {},
  updateMethod: "PATCH",
  differences: (hook, url) => [otherAddress(textAt(hook, "url") !== url), missingEventFields(hook)],
  keys: "keys",
  readOnlyKeyFields: {},
  // Deploy keys of Gitee can never push.
  isReadOnlyKey: () => true,
};

export const gitee = {
  title: "Gitee",
  servers: ["gitee.com"],
  serverWords: ["gitee"],
  eventHeaders: ["X-Gitee-Event"],
  events: gitlabEvents,
  deliveryIdHeaders: [],
  proof: passwordOrSignature,
  pages: { ...githubPages, mergeRequest: "pulls/{number}" },
  token: { headersOf: () => ({}), parameter: "access_token" },
  statuses: [
    {
      proof: "gitee-token",
      urlOf: ({ origin, path }) => `${origin}/api/v5/repos/${inUrl(path)}/check-runs`,
      bodyOf: ({ state, description, targetUrl, context, commit }) => ({
        ...{ name: context, head_sha: commit, details_url: targetUrl, ...words[state] },
        output: { title: context, summary: description },
      }),
      lookUpUrl: (url, { name, head_sha }) =>
        `${url.replace(/\/check-runs$/, `/commits/${head_sha}/check-runs`)}?check_name=${encodeURIComponent(String(name))}`,
      isListed: (answer, { name }) => isAmong(answer, checkRunsIn(answer.json), { name }),
      // A second check run of the same name would stand beside the first.
      changeUrl(url, { json }, { name }) {
        const id = at(
          checkRunsIn(json)?.find((run) => at(run, "name") === name),
          "id",
        );
        return typeof id === "number" ? `${url}/${id}` : null;
      },
    },
  ],
  api,
} satisfies GitHost;
