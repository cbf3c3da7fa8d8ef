import type { HostKind } from "../../src/model/host/host-token.ts";

type Json = Record<string, unknown>;

interface HostRequest {
  method: string;
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

interface Held {
  hooks: Map<number, HeldHook>;
  keys: Map<number, { id: number; title: string; key: string; isReadOnly: boolean }>;
}

export interface HostService extends Held {
  origin: string;
  token: string;
  cloneUrl: string;
  /** Answers every call with this status, as an outage or a revoked token does. */
  failWith: number | null;
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
 * GitHub, https://docs.github.com/rest/repos/webhooks. Create: `name` must be "web", `config.url` is required,
 * `config.content_type` is "json" or "form" (default form), a second hook with the same url answers 422; 201. Answers show
 * the secret as ********. Update is PATCH, delete answers 204. https://docs.github.com/rest/deploy-keys: `key` and
 * `read_only`; without `read_only` a key may write.
 */
function github(prefix: string, authorization: string, type: string | null) {
  return ({ method, path, headers, body }: HostRequest, held: Held): Response => {
    if (headers.get("authorization") !== authorization) return unauthorized();
    const shown = (hook: HeldHook) => ({
      id: hook.id,
      active: hook.isActive,
      events: hook.sendsPushes ? ["push"] : ["issues"],
      config: { url: hook.url, content_type: "json", ...(type === null ? { secret: "********" } : {}) },
    });
    const shownKey = (key: { id: number; key: string; isReadOnly: boolean }) => ({
      id: key.id,
      key: key.key,
      read_only: key.isReadOnly,
    });
    if (method === "GET" && path === `${prefix}/user/repos`)
      return Response.json([
        {
          full_name: "ann/shop",
          clone_url: `http://${headers.get("host")}/ann/shop.git`,
          ssh_url: "s",
          private: true,
          permissions: { admin: true },
        },
        { full_name: "bob/x", clone_url: "c", ssh_url: "s", private: false, permissions: { admin: false } },
      ]);
    const at = itemIn(path, `${prefix}/repos/ann/shop`);
    if (at === null) return notFound();
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
  return ({ method, path, query, headers, body }: HostRequest, held: Held): Response => {
    if (headers.get("private-token") !== token) return unauthorized();
    const shown = (hook: HeldHook) => ({
      id: hook.id,
      url: hook.url,
      push_events: hook.sendsPushes,
      alert_status: hook.isActive ? "executable" : "disabled",
    });
    if (method === "GET" && path === "/api/v4/projects")
      return query.get("min_access_level") === "40" && query.get("membership") === "true"
        ? Response.json([
            {
              path_with_namespace: "ann/shop",
              http_url_to_repo: "c",
              ssh_url_to_repo: "s",
              visibility: "private",
            },
          ])
        : invalid("query");
    const at = itemIn(path.replace("/deploy_keys", "/keys"), "/api/v4/projects/ann%2Fshop");
    if (at === null) return notFound();
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
  return ({ method, path, query, body }: HostRequest, held: Held): Response => {
    if ((method === "GET" || method === "DELETE" ? query.get("access_token") : body.access_token) !== token)
      return unauthorized();
    const shown = (hook: HeldHook) => ({ id: hook.id, url: hook.url, push_events: hook.sendsPushes });
    if (method === "GET" && path === "/api/v5/user/repos")
      return Response.json([{ full_name: "ann/shop", html_url: "c", ssh_url: "s", private: true }]);
    const at = itemIn(path, "/api/v5/repos/ann/shop");
    if (at === null) return notFound();
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

/** A server on this machine that answers as the host's published API reference describes. */
export function startHostService(kind: HostKind): HostService {
  const token = `${kind}-t0ken-of-ann`;
  const held: Held = { hooks: new Map(), keys: new Map() };
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
      if (service.failWith !== null) return new Response("{}", { status: service.failWith });
      const open = openAnswers[kind]?.[pathname];
      if (open) return open();
      const text = await request.text();
      const body = text === "" ? {} : (JSON.parse(text) as Json);
      const { method, headers } = request;
      return answers[kind]({ method, path: pathname, query: searchParams, headers, body }, held);
    },
  });
  const { origin } = server.url;
  const service: HostService = {
    ...held,
    ...{ origin, token, requests },
    cloneUrl: `${origin}/ann/shop.git`,
    failWith: null,
    stop: () => server.stop(true),
  };
  return service;
}
