export type Json = Record<string, unknown>;

export interface HostRequest {
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
  /** What it subscribes to, at hosts that list the events by name. */
  events: string[];
  /** A pattern of branches; empty or `*`: all. */
  branchFilter: string;
}

export interface Repository {
  path: string;
  isAdmin: boolean;
}

export interface Held {
  /** The repository with webhooks and keys. */
  name: string;
  /** Its name before it was renamed; hosts redirect it. Null: it was not renamed. */
  formerName: string | null;
  /** The latest first. */
  repositories: Repository[];
  /** What the token may do; the names are those of the host. */
  scopes: string[];
  /** The token may no longer see the repository. Hosts answer 404 then, as if it did not exist. */
  isHidden: boolean;
  hooks: Map<number, HeldHook>;
  keys: Map<number, { id: number; title: string; key: string; isReadOnly: boolean }>;
}

export const noContent = () => new Response(null, { status: 204 });
export const notFound = () => Response.json({ message: "Not Found" }, { status: 404 });
export const invalid = (message: string) => Response.json({ message }, { status: 422 });
export const unauthorized = () => Response.json({ message: "Bad credentials" }, { status: 401 });
export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isEd25519 = (key: unknown): key is string =>
  isText(key) && /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[\w+/]{43}=* /.test(key);

let lastId = 100;

/**
 * One page of a list. GitHub (https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api): per_page is at
 * most 100, 30 without it. GitLab (https://docs.gitlab.com/api/rest/#pagination): at most 100, 20 without it. Gitea: at most
 * `api.MAX_RESPONSE_ITEMS`, 50. Gitee: at most 100, 20 without it. A larger number counts as the limit.
 */
export function pageOf<T>(
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

export function itemIn(path: string, repository: string): { list: string; id: number | null } | null {
  const [, list = "", id] = new RegExp(`^${repository}/(hooks|keys)(?:/(\\d+))?$`).exec(path) ?? [];
  return list === "" ? null : { list, id: id === undefined ? null : Number(id) };
}

export function addHook(held: Held, url: string, secret: string, sendsPushes: boolean): HeldHook {
  const hook: HeldHook = {
    id: ++lastId,
    url,
    secret,
    isActive: true,
    sendsPushes,
    events: [],
    branchFilter: "",
  };
  held.hooks.set(hook.id, hook);
  return hook;
}

export function keysOf(
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
