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
  type Repository,
  unauthorized,
} from "./held-by-host.ts";

/**
 * GitLab, https://docs.gitlab.com/api/project_webhooks/: `:id` is the encoded path; `url` is required for create (201) and for
 * update (PUT); the answer has no token, but `alert_status`. Deploy keys: `can_push` is false unless given.
 */
export function gitlab(token: string) {
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
      push_events_branch_filter: hook.branchFilter,
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
        hook.branchFilter = isText(body.push_events_branch_filter) ? body.push_events_branch_filter : "";
      } else if (method !== "GET") return notFound();
      return Response.json(shown(hook));
    }
    return keysOf(method, at, body, held, body.can_push !== true, (key) => ({
      id: key.id,
      can_push: !key.isReadOnly,
    }));
  };
}
