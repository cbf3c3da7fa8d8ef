import {
  addHook,
  type Held,
  type HeldHook,
  type HostRequest,
  invalid,
  isText,
  itemIn,
  keysOf,
  noContent,
  notFound,
  pageOf,
  unauthorized,
} from "./held-by-host.ts";

/**
 * Gitee, https://gitee.com/api/v5/swagger: the token is the parameter access_token; `url` is required; encryption_type 0
 * sends `password` as it is. Deploy keys need `key` and `title` and can only read.
 */
export function gitee(token: string) {
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
