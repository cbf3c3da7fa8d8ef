import type { RepositoryPlace } from "../../model/git/repository-place.ts";
import type { StatusProof } from "../../model/outgoing-call.ts";
import type { TaskState } from "../../model/task.ts";

/** `replaced`: a later push took over the task. `skipped`: a filter excluded the push. Neither is a failure. */
export type StatusState = TaskState | "replaced" | "skipped";

/** The status of one commit, independent of the host. */
export interface StatusReport {
  state: StatusState;
  description: string;
  context: string;
  commit: string;
  targetUrl: string;
}

/** How one Git host accepts commit statuses. */
interface StatusHost {
  urlOf(place: RepositoryPlace, report: StatusReport): string;
  bodyOf(report: StatusReport): object;
  /** Where the status of this context can be read. `body` is the body of the call. */
  lookUpUrl(url: string, body: Readonly<Record<string, unknown>>): string;
  /** Whether the look-up's response contains the status; "unknown" if that cannot be determined. */
  isListed(answer: LookUpAnswer, body: Readonly<Record<string, unknown>>): boolean | "unknown";
}

export interface LookUpAnswer {
  status: number;
  json: unknown;
}

const maxDescription = 140;

/**
 * The four states of GitHub's API, which other hosts adopted. GitHub has no neutral end state: a commit that was not
 * built ends as success.
 */
const githubWords = {
  queued: "pending",
  dispatched: "pending",
  running: "pending",
  canceling: "pending",
  waiting: "pending",
  success: "success",
  failed: "failure",
  canceled: "error",
  timeout: "failure",
  lost: "error",
  replaced: "success",
  skipped: "success",
} as const satisfies Record<StatusState, string>;

const gitlabWords = {
  queued: "pending",
  dispatched: "pending",
  running: "running",
  canceling: "running",
  waiting: "pending",
  success: "success",
  failed: "failed",
  canceled: "canceled",
  timeout: "failed",
  lost: "failed",
  replaced: "canceled",
  skipped: "skipped",
} as const satisfies Record<StatusState, string>;

const bitbucketWords = {
  queued: "INPROGRESS",
  dispatched: "INPROGRESS",
  running: "INPROGRESS",
  canceling: "INPROGRESS",
  waiting: "INPROGRESS",
  success: "SUCCESSFUL",
  failed: "FAILED",
  canceled: "STOPPED",
  timeout: "FAILED",
  lost: "FAILED",
  replaced: "SUCCESSFUL",
  skipped: "SUCCESSFUL",
} as const satisfies Record<StatusState, string>;

/** A check run has a status, and a conclusion once it is completed. */
const giteeWords = {
  queued: { status: "queued" },
  dispatched: { status: "queued" },
  running: { status: "in_progress" },
  canceling: { status: "in_progress" },
  waiting: { status: "queued" },
  success: { status: "completed", conclusion: "success" },
  failed: { status: "completed", conclusion: "failure" },
  canceled: { status: "completed", conclusion: "cancelled" },
  timeout: { status: "completed", conclusion: "timed_out" },
  lost: { status: "completed", conclusion: "failure" },
  replaced: { status: "completed", conclusion: "neutral" },
  skipped: { status: "completed", conclusion: "skipped" },
} as const satisfies Record<StatusState, object>;

const github: StatusHost = {
  urlOf: ({ origin, path }, { commit }) => `${githubApiOf(origin)}/repos/${inUrl(path)}/statuses/${commit}`,
  bodyOf: githubBody,
  lookUpUrl: (url) => `${combinedStatusUrl(url)}?per_page=100`,
  isListed: isInCombinedStatus,
};

const gitea: StatusHost = {
  urlOf: ({ origin, path }, { commit }) => `${origin}/api/v1/repos/${inUrl(path)}/statuses/${commit}`,
  bodyOf: githubBody,
  lookUpUrl: (url) => `${combinedStatusUrl(url)}?limit=50`,
  isListed: isInCombinedStatus,
};

const gitlab: StatusHost = {
  urlOf: ({ origin, path }, { commit }) =>
    `${origin}/api/v4/projects/${encodeURIComponent(path)}/statuses/${commit}`,
  bodyOf: ({ state, description, targetUrl, context }) => ({
    state: gitlabWords[state],
    description: description.slice(0, maxDescription),
    target_url: targetUrl,
    name: context,
  }),
  lookUpUrl: (url, { name }) =>
    `${url.replace(/\/statuses\/([^/]+)$/, "/repository/commits/$1/statuses")}?name=${encodeURIComponent(String(name))}`,
  isListed: ({ status, json }, { name }) =>
    status === 200 && Array.isArray(json) ? json.some((one) => fieldOf(one, "name") === name) : "unknown",
};

const gitee: StatusHost = {
  urlOf: ({ origin, path }) => `${origin}/api/v5/repos/${inUrl(path)}/check-runs`,
  bodyOf: ({ state, description, targetUrl, context, commit }) => ({
    name: context,
    head_sha: commit,
    details_url: targetUrl,
    ...giteeWords[state],
    output: { title: context, summary: description.slice(0, maxDescription) },
  }),
  lookUpUrl: (url, { name, head_sha }) =>
    `${url.replace(/\/check-runs$/, `/commits/${head_sha}/check-runs`)}?check_name=${encodeURIComponent(String(name))}`,
  isListed: ({ status, json }, { name }) => {
    const runs = checkRunsIn(json);
    return status === 200 && runs !== null ? runs.some((run) => fieldOf(run, "name") === name) : "unknown";
  },
};

/** The public service has one API server for all organisations; a dedicated edition has the API on its own server. */
const codeup: StatusHost = {
  urlOf: ({ origin, path }, { commit }) => {
    const organization = path.split("/")[0] ?? "";
    const api =
      origin === codeupOrigin
        ? `${codeupApiOrigin}/oapi/v1/codeup/organizations/${encodeURIComponent(organization)}`
        : `${origin}/oapi/v1/codeup`;
    return `${api}/repositories/${encodeURIComponent(path)}/commits/${commit}/statuses`;
  },
  bodyOf: ({ state, description, targetUrl, context }) => ({
    state: githubWords[state],
    description: description.slice(0, maxDescription),
    targetUrl,
    context: shortened(context, 50),
  }),
  lookUpUrl: (url) => `${url}?perPage=100`,
  isListed: ({ status, json }, { context }) => {
    if (status !== 200 || !Array.isArray(json)) return "unknown";
    if (json.some((one) => fieldOf(one, "context") === context)) return true;
    return json.length < 100 ? false : "unknown";
  },
};

const bitbucket: StatusHost = {
  urlOf: ({ path }, { commit }) =>
    `${bitbucketApiOrigin}/2.0/repositories/${inUrl(path)}/commit/${commit}/statuses/build`,
  bodyOf: bitbucketBody,
  lookUpUrl: (url, { key }) => `${url}/${encodeURIComponent(String(key))}`,
  isListed: isBuildFound,
};

const bitbucketServer: StatusHost = {
  urlOf: ({ origin, path }, { commit }) => {
    // Clone addresses over http have the prefix scm; those over ssh do not.
    const [project = "", repository = ""] = path.replace(/^scm\//, "").split("/");
    return `${origin}/rest/api/latest/projects/${encodeURIComponent(project)}/repos/${encodeURIComponent(repository)}/commits/${commit}/builds`;
  },
  bodyOf: (report) => ({
    ...bitbucketBody(report),
    ...(report.state === "canceled" ? { state: "CANCELLED" } : {}),
  }),
  lookUpUrl: (url, { key }) => `${url}?key=${encodeURIComponent(String(key))}`,
  isListed: isBuildFound,
};

/** By the proof in a stored call, so that calls of earlier versions are still sent. */
export const statusHosts: Record<StatusProof, StatusHost> = {
  bearer: github,
  token: gitea,
  "private-token": gitlab,
  "yunxiao-token": codeup,
  "gitee-token": gitee,
  bitbucket,
  "bitbucket-server": bitbucketServer,
};

export const bitbucketOrigin = "https://bitbucket.org";
const bitbucketApiOrigin = "https://api.bitbucket.org";
const codeupOrigin = "https://codeup.aliyun.com";
const codeupApiOrigin = "https://openapi-rdc.aliyuncs.com";

/**
 * Servers that accept the statuses of a repository on `origin`: the server itself, and the API server of a public
 * service.
 */
export function statusOriginsOf(origin: string): string[] {
  const apis: Record<string, string> = {
    "https://github.com": "https://api.github.com",
    [bitbucketOrigin]: bitbucketApiOrigin,
    [codeupOrigin]: codeupApiOrigin,
  };
  const api = apis[origin];
  return api === undefined ? [origin] : [origin, api];
}

/** The id of the check run with the name of this call; null: there is none. */
export function checkRunId(json: unknown, name: unknown): number | null {
  const run = checkRunsIn(json)?.find((one) => fieldOf(one, "name") === name);
  const id = fieldOf(run, "id");
  return typeof id === "number" ? id : null;
}

function githubApiOf(origin: string): string {
  return origin === "https://github.com" ? "https://api.github.com" : `${origin}/api/v3`;
}

function githubBody({ state, description, targetUrl, context }: StatusReport): object {
  return {
    state: githubWords[state],
    description: description.slice(0, maxDescription),
    target_url: targetUrl,
    context,
  };
}

/** The key is an identifier of at most 40 characters; people see the name. */
function bitbucketBody({ state, description, targetUrl, context }: StatusReport) {
  return {
    key: shortened(context, 40),
    state: bitbucketWords[state],
    name: context,
    url: targetUrl,
    description: description.slice(0, maxDescription),
  };
}

function combinedStatusUrl(url: string): string {
  return url.replace(/\/statuses\/([^/]+)$/, "/commits/$1/status");
}

function isInCombinedStatus(
  { status, json }: LookUpAnswer,
  { context }: Readonly<Record<string, unknown>>,
): boolean | "unknown" {
  const statuses = fieldOf(json, "statuses");
  // Gitea answers null if there are no statuses.
  const listed = Array.isArray(statuses) ? statuses : statuses === null ? [] : null;
  if (status !== 200 || listed === null) return "unknown";
  if (listed.some((one) => fieldOf(one, "context") === context)) return true;
  const total = fieldOf(json, "total_count");
  return typeof total === "number" && total > listed.length ? "unknown" : false;
}

function isBuildFound({ status }: LookUpAnswer): boolean | "unknown" {
  if (status === 404) return false;
  return status === 200 ? true : "unknown";
}

function checkRunsIn(json: unknown): unknown[] | null {
  const runs = Array.isArray(json) ? json : fieldOf(json, "check_runs");
  return Array.isArray(runs) ? runs : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function inUrl(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Two long names with the same start stay different. */
function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 8);
  return `${text.slice(0, maxLength - 9)}-${digest}`;
}
