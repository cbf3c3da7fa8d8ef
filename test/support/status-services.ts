type Json = Record<string, unknown>;

/** A status as a Git host holds it. */
export interface HeldStatus {
  commit: string;
  context: string;
  state: string;
  description: string;
  link: string;
}

interface StatusService {
  /** Clone address of the repository; `origin` is this machine's server where the host is no public service. */
  cloneUrl(origin: string): string;
  /** Origin of the API of a public service, which this machine's server stands in for. */
  apiOrigin?: string;
  token: string;
  /** Answers as the host documents it. */
  answer(request: StatusRequest, held: HeldStatus[]): Response;
}

interface StatusRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: Json;
}

const notFound = () => Response.json({ message: "404 Not Found" }, { status: 404 });
const unauthorized = () => Response.json({ message: "401 Unauthorized" }, { status: 401 });
const invalid = (message: string) => Response.json({ message }, { status: 422 });

function text(value: unknown, max: number): string | null {
  return typeof value === "string" && value.length > 0 && value.length <= max ? value : null;
}

/** Adds a status; the newest of a context counts. */
function add(held: HeldStatus[], status: HeldStatus, answerStatus = 201): Response {
  held.push(status);
  return Response.json({ id: held.length }, { status: answerStatus });
}

function latestOf(held: HeldStatus[], commit: string): HeldStatus[] {
  const own = held.filter((status) => status.commit === commit);
  return [...new Map(own.map((status) => [status.context, status])).values()];
}

/**
 * GitHub: POST …/statuses/{sha} with state (error, failure, pending or success), target_url, description (at most 140
 * characters) and context; GET …/commits/{ref}/status answers the latest status of each context with their total_count.
 */
function githubLike(prefix: string, authorization: string): StatusService["answer"] {
  return ({ method, path, headers, body }, held) => {
    if (headers.get("authorization") !== authorization) return unauthorized();
    const posted = new RegExp(`^${prefix}/repos/ann/shop/statuses/([0-9a-f]{40})$`).exec(path)?.[1];
    const read = new RegExp(`^${prefix}/repos/ann/shop/commits/([0-9a-f]{40})/status$`).exec(path)?.[1];
    if (method === "GET" && read !== undefined) {
      const statuses = latestOf(held, read);
      return Response.json({ state: "pending", statuses, total_count: statuses.length });
    }
    if (method !== "POST" || posted === undefined) return notFound();
    const [state, context, description] = [
      text(body.state, 20),
      text(body.context, 255),
      text(body.description, 140),
    ];
    if (!state || !["error", "failure", "pending", "success"].includes(state)) return invalid("state");
    if (!context || !description) return invalid("context, description");
    return add(held, { commit: posted, context, state, description, link: String(body.target_url) });
  };
}

/**
 * GitLab: POST /projects/:id/statuses/:sha with state, name, target_url and description; :id is the encoded path; the token is in
 * PRIVATE-TOKEN. GET /projects/:id/repository/commits/:sha/statuses lists them, with `name` those of one name.
 */
const gitlab: StatusService = {
  cloneUrl: (origin) => `${origin}/group/sub/shop.git`,
  token: "glpat-123456",
  answer({ method, path, query, headers, body }, held) {
    if (headers.get("private-token") !== "glpat-123456") return unauthorized();
    const posted = /^\/api\/v4\/projects\/group%2Fsub%2Fshop\/statuses\/([0-9a-f]{40})$/.exec(path)?.[1];
    const read =
      /^\/api\/v4\/projects\/group%2Fsub%2Fshop\/repository\/commits\/([0-9a-f]{40})\/statuses$/.exec(
        path,
      )?.[1];
    if (method === "GET" && read !== undefined) {
      const found = latestOf(held, read).filter(({ context }) => context === query.get("name"));
      return Response.json(found.map((status) => ({ ...status, name: status.context })));
    }
    if (method !== "POST" || posted === undefined) return notFound();
    const states = ["pending", "running", "success", "failed", "canceled", "skipped"];
    const [state, context] = [text(body.state, 20), text(body.name, 255)];
    if (!state || !states.includes(state) || !context) return invalid("state, name");
    return add(held, {
      commit: posted,
      context,
      state,
      description: String(body.description),
      link: String(body.target_url),
    });
  },
};

/**
 * Gitee: POST /v5/repos/{owner}/{repo}/check-runs creates a check run with name, head_sha (whole), status (queued, in_progress or
 * completed), conclusion, details_url and output; a second one of the same name is another run. PATCH …/check-runs/{id} changes
 * one, GET …/commits/{ref}/check-runs lists them. The token is the parameter access_token.
 */
const gitee: StatusService = {
  cloneUrl: (origin) => `${origin}/ann/shop.git`,
  token: "gitee-token-1",
  answer({ method, path, query, body }, held) {
    if ((method === "GET" ? query.get("access_token") : body.access_token) !== "gitee-token-1")
      return unauthorized();
    const read = /^\/api\/v5\/repos\/ann\/shop\/commits\/([0-9a-f]{40})\/check-runs$/.exec(path)?.[1];
    if (method === "GET" && read !== undefined) {
      const runs = held.flatMap((status, index) =>
        status.commit === read && status.context === query.get("check_name")
          ? [{ id: index + 1, name: status.context }]
          : [],
      );
      return Response.json({ total_count: runs.length, check_runs: runs });
    }
    const changed = /^\/api\/v5\/repos\/ann\/shop\/check-runs(?:\/(\d+))?$/.exec(path);
    const [state, name, commit] = [text(body.status, 20), text(body.name, 255), text(body.head_sha, 40)];
    if (changed === null || !state || !name) return notFound();
    const conclusion = body.conclusion === undefined ? "" : ` ${String(body.conclusion)}`;
    const conclusions = [
      "success",
      "failure",
      "neutral",
      "cancelled",
      "skipped",
      "timed_out",
      "action_required",
    ];
    if (!["queued", "in_progress", "completed"].includes(state)) return invalid("status");
    if ((state === "completed") !== conclusions.includes(conclusion.trim())) return invalid("conclusion");
    const description = String((body.output as Json).summary);
    const status = {
      context: name,
      state: `${state}${conclusion}`,
      description,
      link: String(body.details_url),
    };
    const old = held[Number(changed[1]) - 1];
    if (method === "PATCH" && old) return Response.json(Object.assign(old, status));
    if (method !== "POST" || changed[1] !== undefined || commit?.length !== 40) return notFound();
    return add(held, { commit, ...status });
  },
};

/**
 * Codeup: POST …/repositories/{repositoryId}/commits/{sha}/statuses, where the repository is its encoded whole path and the public
 * service also has organizations/{organizationId} before it. context (at most 50 characters), state (error, failure, pending,
 * success), description and targetUrl; the token is in x-yunxiao-token. GET on the same path lists them.
 */
function codeup(path: RegExp): StatusService["answer"] {
  return ({ method, path: asked, headers, body }, held) => {
    if (headers.get("x-yunxiao-token") !== "pt-0fh3") return unauthorized();
    const commit = path.exec(asked)?.[1];
    if (commit === undefined) return notFound();
    if (method === "GET") return Response.json(latestOf(held, commit));
    const [state, context] = [text(body.state, 20), text(body.context, 50)];
    if (!state || !["error", "failure", "pending", "success"].includes(state)) return invalid("state");
    if (!context) return invalid("context");
    return add(
      held,
      { commit, context, state, description: String(body.description), link: String(body.targetUrl) },
      200,
    );
  };
}

/**
 * Bitbucket: POST …/statuses/build (Cloud) or …/builds (Data Center) with key, state, url, name and description; the same key is
 * overwritten. GET …/statuses/build/{key} or …/builds?key= answers one, or 404. Keys have at most 40 characters in Cloud.
 */
function bitbucket(
  path: RegExp,
  keyOf: (request: StatusRequest) => string | null,
  authorization: string,
  states: string[],
): StatusService["answer"] {
  return (request, held) => {
    const { method, headers, body } = request;
    if (headers.get("authorization") !== authorization) return unauthorized();
    const commit = path.exec(request.path)?.[1];
    if (commit === undefined) return notFound();
    if (method === "GET") {
      const found = latestOf(held, commit).find(({ context }) => context === keyOf(request));
      return found ? Response.json(found) : notFound();
    }
    const [key, state, url] = [text(body.key, 40), text(body.state, 20), text(body.url, 500)];
    if (!key || !state || !url || !states.includes(state)) return invalid("key, state, url");
    return add(held, { commit, context: key, state, description: String(body.description), link: url });
  };
}

export const statusServices = {
  github: {
    cloneUrl: () => "git@github.com:ann/shop.git",
    apiOrigin: "https://api.github.com",
    token: "ghp_1",
    answer: githubLike("", "Bearer ghp_1"),
  },
  "github enterprise": {
    cloneUrl: (origin) => `${origin}/ann/shop.git`,
    token: "ghp_1",
    answer: githubLike("/api/v3", "Bearer ghp_1"),
  },
  gitea: {
    cloneUrl: (origin) => `${origin}/ann/shop.git`,
    token: "gitea-1",
    answer: githubLike("/api/v1", "token gitea-1"),
  },
  gitlab,
  gitee,
  codeup: {
    cloneUrl: () => "https://codeup.aliyun.com/60de7a68/team/shop.git",
    apiOrigin: "https://openapi-rdc.aliyuncs.com",
    token: "pt-0fh3",
    answer: codeup(
      /^\/oapi\/v1\/codeup\/organizations\/60de7a68\/repositories\/60de7a68%2Fteam%2Fshop\/commits\/([0-9a-f]{40})\/statuses$/,
    ),
  },
  "codeup region": {
    cloneUrl: (origin) => `${origin}/team/shop.git`,
    token: "pt-0fh3",
    answer: codeup(/^\/oapi\/v1\/codeup\/repositories\/team%2Fshop\/commits\/([0-9a-f]{40})\/statuses$/),
  },
  bitbucket: {
    cloneUrl: () => "git@bitbucket.org:ann/shop.git",
    apiOrigin: "https://api.bitbucket.org",
    token: "ann@example.com:ATATT1",
    answer: bitbucket(
      /^\/2\.0\/repositories\/ann\/shop\/commit\/([0-9a-f]{40})\/statuses\/build(?:\/[^/]+)?$/,
      ({ path }) => decodeURIComponent(path.split("/").at(-1) ?? ""),
      `Basic ${btoa("ann@example.com:ATATT1")}`,
      ["SUCCESSFUL", "FAILED", "INPROGRESS", "STOPPED"],
    ),
  },
  "bitbucket data center": {
    cloneUrl: (origin) => `${origin}/scm/team/shop.git`,
    token: "BBDC-1",
    answer: bitbucket(
      /^\/rest\/api\/latest\/projects\/team\/repos\/shop\/commits\/([0-9a-f]{40})\/builds$/,
      ({ query }) => query.get("key"),
      "Bearer BBDC-1",
      ["SUCCESSFUL", "FAILED", "INPROGRESS", "CANCELLED", "UNKNOWN"],
    ),
  },
} as const satisfies Record<string, StatusService>;

/** The status API of one Git host on this machine. */
export function startStatusService(name: keyof typeof statusServices) {
  const service: StatusService = statusServices[name];
  const held: HeldStatus[] = [];
  const refused: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const body = request.method === "GET" ? {} : ((await request.json()) as Json);
      const { method, headers } = request;
      const answer = service.answer({ method, path: pathname, query: searchParams, headers, body }, held);
      if (!answer.ok && method !== "GET")
        refused.push(`${answer.status} ${method} ${pathname} ${await answer.clone().text()}`);
      return answer;
    },
  });
  return {
    held,
    refused,
    token: service.token,
    cloneUrl: service.cloneUrl(server.url.origin),
    /** An address of the public service as it is reached on this machine. */
    here: (url: string) => (service.apiOrigin ? url.replace(service.apiOrigin, server.url.origin) : url),
    stop: () => server.stop(true),
  };
}
