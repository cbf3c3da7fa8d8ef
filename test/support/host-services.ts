import type { HostKind } from "../../src/git-host/hosts.ts";
import { gitee } from "./git-hosts/gitee-answers.ts";
import { github } from "./git-hosts/github-answers.ts";
import { gitlab } from "./git-hosts/gitlab-answers.ts";
import type { Held, Json } from "./git-hosts/held-by-host.ts";

interface Failure {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

const asFailure = (status: number): Failure => ({ status });

export interface HostService extends Held {
  origin: string;
  token: string;
  cloneUrl: string;
  /** Answers every call like this, as an outage, a revoked token or a rate limit does. */
  failWith: number | Failure | null;
  /** Called with each call of its API before it is answered. */
  onRequest: ((request: string) => void | Promise<void>) | null;
  /** Origin of a server for requests of git; null: the host has no repositories to clone. */
  gitServer: string | null;
  /** The calls of its API. Requests of git are not among them: the server polls a repository at any time. */
  requests: string[];
  stop(): void;
}

/**
 * What a host answers without a token. Gitea: getVersion. GitLab: https://docs.gitlab.com/api/version/, which needs a token.
 * GitHub Enterprise Server: https://docs.github.com/enterprise-server/rest/meta/meta, "GitHub API Root".
 */
const openAnswers: Partial<Record<HostKind, Record<string, () => Response>>> = {
  gitea: { "/api/v1/version": () => Response.json({ version: "1.23.8" }) },
  gitlab: { "/api/v4/version": () => Response.json({ message: "401 Unauthorized" }, { status: 401 }) },
  github: { "/api/v3/": () => Response.json({ current_user_url: "https://github.example.com/user" }) },
};

const fullScopes: Record<HostKind, string[]> = {
  github: ["repo"],
  gitlab: ["api"],
  gitea: ["write:repository", "read:user"],
  gitee: ["user_info", "projects", "hook"],
};

/** A server on this machine that answers as the host's published API reference describes. */
export function startHostService(kind: HostKind): HostService {
  const token = `${kind}-t0ken-of-ann`;
  const answers = {
    github: github("/api/v3", `Bearer ${token}`, null),
    gitea: github("/api/v1", `token ${token}`, "gitea"),
    gitlab: gitlab(token),
    gitee: gitee(token),
  };
  const requests: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request): Promise<Response> {
      const { pathname, searchParams, search } = new URL(request.url);
      const isGit = pathname.includes(".git/");
      if (!isGit) {
        requests.push(`${request.method} ${pathname}`);
        await service.onRequest?.(`${request.method} ${pathname}`);
      }
      if (service.failWith !== null) {
        const { failWith } = service;
        const {
          status,
          headers,
          body = "{}",
        } = typeof failWith === "number" ? asFailure(failWith) : failWith;
        return new Response(body, { status, ...(headers ? { headers } : {}) });
      }
      const open = openAnswers[kind]?.[pathname];
      if (open) return open();
      if (service.gitServer !== null && isGit)
        return fetch(`${service.gitServer}${pathname.replace(/^\/ann/, "")}${search}`, request);
      const text = await request.text();
      const body = text === "" ? {} : (JSON.parse(text) as Json);
      const { method, headers, url } = request;
      return answers[kind]({ method, url, path: pathname, query: searchParams, headers, body }, service);
    },
  });
  const { origin } = server.url;
  const service: HostService = {
    ...{ origin, token, requests, hooks: new Map(), keys: new Map(), scopes: [...fullScopes[kind]] },
    repositories: [
      { path: "ann/shop", isAdmin: true },
      { path: "bob/x", isAdmin: false },
    ],
    ...{ isHidden: false, name: "ann/shop", formerName: null },
    cloneUrl: `${origin}/ann/shop.git`,
    ...{ failWith: null, onRequest: null, gitServer: null },
    stop: () => server.stop(true),
  };
  return service;
}
