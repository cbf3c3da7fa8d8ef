import type { HostKind } from "../../src/model/host/host-token.ts";

type Json = Record<string, unknown>;

interface Failure {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

const asFailure = (status: number): Failure => ({ status });

interface HostRequest {
  method: string;
  url: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: Json;
}

/** A webhook as the host holds it; the secret is never part of an answer that the reference does not allow. */
export interface HeldHook {
  id: number;
  url: string;
  secret: string;
  isActive: boolean;
  sendsPushes: boolean;
}

interface Repository {
  path: string;
  isAdmin: boolean;
}

interface Held {
  /** The latest first. */
  repositories: Repository[];
  /** What the token may do; the names are those of the host. */
  scopes: string[];
  /** The token may no longer see the repository. Hosts answer 404 then, as if it did not exist. */
  isHidden: boolean;
  hooks: Map<number, HeldHook>;
  keys: Map<number, { id: number; title: string; key: string; isReadOnly: boolean }>;
}

export interface HostService extends Held {
  origin: string;
  token: string;
  cloneUrl: string;
  /** Answers every call like this, as an outage, a revoked token or a rate limit does. */
  failWith: number | Failure | null;
  /** Called with each request before it is answered. */
  onRequest: ((request: string) => void | Promise<void>) | null;
  requests: string[];
  stop(): void;
}

const noContent = () => new Response(null, { status: 204 });
const notFound = () => Response.json({ message: "Not Found" }, { status: 404 });
const invalid = (message: string) => Response.json({ message }, { status: 422 });
const unauthorized = () => Response.json({ message: "Bad credentials" }, { status: 401 });
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isEd25519 = (key: unknown): key is string =>
  isText(key) && /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[\w+/]{43}=* /.test(key);

let lastId = 100;

/**
 * One page of a list. GitHub (https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api): per_page is at
 * most 100, 30 without it. GitLab (https://docs.gitlab.com/api/rest/#pagination): at most 100, 20 without it. Gitea: at most
 * `api.MAX_RESPONSE_ITEMS`, 50. Gitee: at most 100, 20 without it. A larger number counts as the limit.
 */
function pageOf<T>(
  items: T[],
  { url, query }: HostRequest,
  rule: { name: string; most: number; usual: number },
) {
  const size = Math.min(Number(query.get(rule.name) ?? rule.usual) || rule.usual, rule.most);
  const page = Number(query.get("page") ?? 1) || 1;
  const pages = Math.max(Math.ceil(items.length / size), 1);
  const linked = (number: number, rel: string) => {
    const address = new URL(url);
    address.searchParams.set("page", String(number));
    return `<${address.href}>; rel="${rel}"`;
  };
  const hasNext = page < pages;
  return {
    shown: items.slice((page - 1) * size, page * size),
    total: items.length,
    pages,
    /** RFC 8288; the last page has no "next". */
    link: [...(hasNext ? [linked(page + 1, "next")] : []), linked(pages, "last")].join(", "),
    next: hasNext ? String(page + 1) : "",
  };
}

/**
 * GitHub, https://docs.github.com/rest/repos/webhooks. Create: `name` must be "web", `config.url` is required,
 * `config.content_type` is "json" or "form" (default form), a second hook with the same url answers 422; 201. Answers show
 * the secret as ********. Update is PATCH, delete answers 204. https://docs.github.com/rest/deploy-keys: `key` and
 * `read_only`; without `read_only` a key may write.
 */
function github(prefix: string, authorization: string, type: string | null) {
  return (request: HostRequest, held: Held): Response => {
    const { method, path, query, headers, body } = request;
    if (headers.get("authorization") !== authorization) return unauthorized();
    const isGitea = type !== null;
    const listed = <T>(items: T[]) =>
      pageOf(
        items,
        request,
        isGitea ? { name: "limit", most: 50, usual: 30 } : { name: "per_page", most: 100, usual: 30 },
      );
    const oauth: Record<string, string> = isGitea
      ? {}
      : { "x-oauth-scopes": held.scopes.join(", "), "x-accepted-oauth-scopes": "repo" };
    if (isGitea) {
      // Gitea, tokenRequiresScopes: checked before the repository is looked up; the message is that of version 1.23.
      const category = path.startsWith(`${prefix}/user`) ? "user" : "repository";
      const level = method === "GET" ? "read" : "write";
      const isEnough = held.scopes.some((scope) =>
        [`${level}:${category}`, `write:${category}`].includes(scope),
      );
      const message = `token does not have at least one of required scope(s), required=[${level}:${category}], token scope=${held.scopes}`;
      if (!isEnough) return Response.json({ message }, { status: 403 });
    }
    if (method === "GET" && path === `${prefix}/user`)
      return Response.json({ id: 7, login: "ann" }, { headers: oauth });
    const shown = (hook: HeldHook) => ({
      id: hook.id,
      active: hook.isActive,
      events: hook.sendsPushes ? ["push", "create", "pull_request"] : ["issues"],
      config: { url: hook.url, content_type: "json", ...(type === null ? { secret: "********" } : {}) },
    });
    const shownKey = (key: { id: number; key: string; isReadOnly: boolean }) => ({
      id: key.id,
      key: key.key,
      read_only: key.isReadOnly,
    });
    const shownRepository = ({ path: name, isAdmin }: Repository) => ({
      full_name: name,
      clone_url: `http://${headers.get("host")}/${name}.git`,
      ssh_url: `git@127.0.0.1:${name}.git`,
      private: true,
      permissions: { admin: isAdmin },
    });
    // https://docs.github.com/rest/repos/repos#list-repositories-for-the-authenticated-user: it has no search.
    if (method === "GET" && path === `${prefix}/user/repos` && !isGitea) {
      const page = listed(held.repositories);
      return Response.json(page.shown.map(shownRepository), { headers: { link: page.link } });
    }
    // Gitea, repoSearch: `uid` limits the search to the repositories of a user, `q` is a part of the name.
    if (method === "GET" && path === `${prefix}/repos/search` && isGitea) {
      if (query.get("uid") !== "7") return invalid("uid");
      const part = query.get("q") ?? "";
      const page = listed(held.repositories.filter(({ path: name }) => name.split("/")[1]?.includes(part)));
      const paging = { link: page.link, "x-total-count": String(page.total) };
      return Response.json({ ok: true, data: page.shown.map(shownRepository) }, { headers: paging });
    }
    const at = itemIn(path, `${prefix}/repos/ann/shop`);
    if (at === null || held.isHidden) return notFound();
    if (at.list === "hooks" && at.id === null && method === "GET") {
      const page = listed([...held.hooks.values()]);
      return Response.json(page.shown.map(shown), { headers: { link: page.link } });
    }
    const config = (body.config ?? {}) as Json;
    const events = body.events as string[] | undefined;
    if (at.list === "hooks" && method === "POST") {
      // Gitea, repoCreateHook: `type` and `config` with url and content_type are required.
      if (type === null ? body.name !== "web" : body.type !== type) return invalid("name or type");
      if (!isText(config.url) || config.content_type !== "json") return invalid("config");
      if (type === null && [...held.hooks.values()].some(({ url }) => url === config.url))
        return invalid("Validation Failed: Hook already exists on this repository");
      const hook = addHook(held, config.url, String(config.secret), events?.includes("push") ?? true);
      // Gitea creates a hook inactive unless `active` is true; GitHub active unless it is false.
      hook.isActive = body.active === true;
      return Response.json(shown(hook), { status: 201 });
    }
    if (at.list === "hooks" && at.id !== null) {
      const hook = held.hooks.get(at.id);
      if (!hook) return notFound();
      if (method === "DELETE") return held.hooks.delete(at.id) ? noContent() : notFound();
      if (method === "PATCH") {
        if (isText(config.url)) hook.url = config.url;
        if (isText(config.secret)) hook.secret = config.secret;
        if (body.active !== undefined) hook.isActive = body.active === true;
        if (events) hook.sendsPushes = events.includes("push");
      } else if (method !== "GET") return notFound();
      return Response.json(shown(hook));
    }
    return keysOf(method, at, body, held, body.read_only === true, shownKey);
  };
}

/**
 * GitLab, https://docs.gitlab.com/api/project_webhooks/: `:id` is the encoded path; `url` is required for create (201) and for
 * update (PUT); the answer has no token, but `alert_status`. Deploy keys: `can_push` is false unless given.
 */
function gitlab(token: string) {
  return (request: HostRequest, held: Held): Response => {
    const { method, path, query, headers, body } = request;
    if (headers.get("private-token") !== token) return unauthorized();
    const listed = <T>(items: T[]) => {
      const page = pageOf(items, request, { name: "per_page", most: 100, usual: 20 });
      const paging = { link: page.link, "x-next-page": page.next, "x-total": String(page.total) };
      return { shown: page.shown, headers: paging };
    };
    if (method === "GET" && path === "/api/v4/user") return Response.json({ id: 7, username: "ann" });
    // https://docs.gitlab.com/api/personal_access_tokens/: the token tells about itself.
    if (method === "GET" && path === "/api/v4/personal_access_tokens/self")
      return Response.json({ id: 1, scopes: held.scopes, expires_at: "2030-01-31", active: true });
    // Without the scope: https://docs.gitlab.com/api/rest/troubleshooting/, insufficient_scope.
    if (!held.scopes.includes("api") && method !== "GET")
      return Response.json({ error: "insufficient_scope", scope: "api" }, { status: 403 });
    const shown = (hook: HeldHook) => ({
      id: hook.id,
      url: hook.url,
      push_events: hook.sendsPushes,
      tag_push_events: hook.sendsPushes,
      merge_requests_events: hook.sendsPushes,
      alert_status: hook.isActive ? "executable" : "disabled",
    });
    // https://docs.gitlab.com/api/projects/#list-all-projects: a search of less than three letters finds equal names only.
    if (method === "GET" && path === "/api/v4/projects") {
      if (query.get("min_access_level") !== "40" || query.get("membership") !== "true")
        return invalid("query");
      const part = query.get("search") ?? "";
      const isFound = ({ path: name }: Repository) =>
        part === "" || (part.length < 3 ? name.split("/")[1] === part : name.includes(part));
      const page = listed(held.repositories.filter((each) => each.isAdmin && isFound(each)));
      const list = page.shown.map(({ path: name }) => ({
        path_with_namespace: name,
        http_url_to_repo: `http://${headers.get("host")}/${name}.git`,
        ssh_url_to_repo: `git@127.0.0.1:${name}.git`,
        visibility: "private",
      }));
      return Response.json(list, { headers: page.headers });
    }
    const at = itemIn(path.replace("/deploy_keys", "/keys"), "/api/v4/projects/ann%2Fshop");
    if (at === null || held.isHidden) return notFound();
    if (at.list === "hooks" && at.id === null && method === "GET") {
      const page = listed([...held.hooks.values()]);
      return Response.json(page.shown.map(shown), { headers: page.headers });
    }
    if (at.list === "hooks" && at.id === null && method === "POST") {
      if (!isText(body.url)) return Response.json({ error: "url is missing" }, { status: 400 });
      const hook = addHook(held, body.url, String(body.token), body.push_events === true);
      return Response.json(shown(hook), { status: 201 });
    }
    if (at.list === "hooks" && at.id !== null) {
      const hook = held.hooks.get(at.id);
      if (!hook) return notFound();
      if (method === "DELETE") return held.hooks.delete(at.id) ? noContent() : notFound();
      if (method === "PUT") {
        if (!isText(body.url)) return Response.json({ error: "url is missing" }, { status: 400 });
        Object.assign(hook, { url: body.url, secret: String(body.token), isActive: true });
        hook.sendsPushes = body.push_events === true;
      } else if (method !== "GET") return notFound();
      return Response.json(shown(hook));
    }
    return keysOf(method, at, body, held, body.can_push !== true, (key) => ({
      id: key.id,
      can_push: !key.isReadOnly,
    }));
  };
}

/**
 * Gitee, https://gitee.com/api/v5/swagger: the token is the parameter access_token; `url` is required; encryption_type 0
 * sends `password` as it is. Deploy keys need `key` and `title` and can only read.
 */
function gitee(token: string) {
  return (request: HostRequest, held: Held): Response => {
    const { method, path, query, headers, body } = request;
    if ((method === "GET" || method === "DELETE" ? query.get("access_token") : body.access_token) !== token)
      return unauthorized();
    const listed = <T>(items: T[]) => {
      const page = pageOf(items, request, { name: "per_page", most: 100, usual: 20 });
      return {
        shown: page.shown,
        headers: { total_count: String(page.total), total_page: String(page.pages) },
      };
    };
    const shown = (hook: HeldHook) => ({
      id: hook.id,
      url: hook.url,
      push_events: hook.sendsPushes,
      tag_push_events: hook.sendsPushes,
      merge_requests_events: hook.sendsPushes,
    });
    if (method === "GET" && path === "/api/v5/user") return Response.json({ id: 7, login: "ann" });
    if (method === "GET" && path === "/api/v5/user/repos") {
      const part = query.get("q") ?? "";
      const page = listed(
        held.repositories.filter(({ path: name, isAdmin }) => isAdmin && name.includes(part)),
      );
      const list = page.shown.map(({ path: name }) => ({
        full_name: name,
        html_url: `http://${headers.get("host")}/${name}.git`,
        ssh_url: `git@127.0.0.1:${name}.git`,
        private: true,
      }));
      return Response.json(list, { headers: page.headers });
    }
    const at = itemIn(path, "/api/v5/repos/ann/shop");
    if (at === null || held.isHidden) return notFound();
    if (at.list === "hooks" && at.id === null && method === "GET") {
      const page = listed([...held.hooks.values()]);
      return Response.json(page.shown.map(shown), { headers: page.headers });
    }
    if (at.list === "hooks" && at.id === null && method === "POST") {
      if (!isText(body.url) || body.encryption_type !== 0) return invalid("url, encryption_type");
      const hook = addHook(held, body.url, String(body.password), body.push_events === true);
      return Response.json(shown(hook), { status: 201 });
    }
    if (at.list === "hooks" && at.id !== null) {
      const hook = held.hooks.get(at.id);
      if (!hook) return notFound();
      if (method === "DELETE") return held.hooks.delete(at.id) ? noContent() : notFound();
      if (method === "PATCH") {
        if (!isText(body.url)) return invalid("url");
        Object.assign(hook, { url: body.url, secret: String(body.password) });
        hook.sendsPushes = body.push_events === true;
      } else if (method !== "GET") return notFound();
      return Response.json(shown(hook));
    }
    return keysOf(method, at, body, held, true, (key) => ({ id: key.id }));
  };
}

function itemIn(path: string, repository: string): { list: string; id: number | null } | null {
  const [, list = "", id] = new RegExp(`^${repository}/(hooks|keys)(?:/(\\d+))?$`).exec(path) ?? [];
  return list === "" ? null : { list, id: id === undefined ? null : Number(id) };
}

function addHook(held: Held, url: string, secret: string, sendsPushes: boolean): HeldHook {
  const hook = { id: ++lastId, url, secret, isActive: true, sendsPushes };
  held.hooks.set(hook.id, hook);
  return hook;
}

function keysOf(
  method: string,
  { list, id }: { list: string; id: number | null },
  body: Json,
  held: Held,
  isReadOnly: boolean,
  shown: (key: { id: number; title: string; key: string; isReadOnly: boolean }) => Json,
): Response {
  if (list !== "keys") return notFound();
  if (method === "POST" && id === null) {
    if (!isText(body.title) || !isEd25519(body.key)) return invalid("key is invalid");
    const key = { id: ++lastId, title: body.title, key: body.key, isReadOnly };
    held.keys.set(key.id, key);
    return Response.json(shown(key), { status: 201 });
  }
  const key = held.keys.get(id ?? 0);
  if (!key) return notFound();
  if (method === "DELETE") return held.keys.delete(key.id) ? noContent() : notFound();
  return method === "GET" ? Response.json(shown(key)) : notFound();
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
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      requests.push(`${request.method} ${pathname}`);
      await service.onRequest?.(`${request.method} ${pathname}`);
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
    isHidden: false,
    cloneUrl: `${origin}/ann/shop.git`,
    ...{ failWith: null, onRequest: null },
    stop: () => server.stop(true),
  };
  return service;
}
