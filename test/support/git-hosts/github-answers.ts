import {
  addHook,
  type Held,
  type HeldHook,
  type HostRequest,
  invalid,
  isText,
  itemIn,
  type Json,
  keysOf,
  noContent,
  notFound,
  pageOf,
  type Repository,
  unauthorized,
} from "./held-by-host.ts";

/**
 * GitHub, https://docs.github.com/rest/repos/webhooks. Create: `name` must be "web", `config.url` is required,
 * `config.content_type` is "json" or "form" (default form), a second hook with the same url answers 422; 201. Answers show
 * the secret as ********. Update is PATCH, delete answers 204. https://docs.github.com/rest/deploy-keys: `key` and
 * `read_only`; without `read_only` a key may write.
 */
export function github(prefix: string, authorization: string, type: string | null) {
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
      events: hook.sendsPushes ? hook.events : ["issues"],
      config: { url: hook.url, content_type: "json", ...(type === null ? { secret: "********" } : {}) },
      ...(isGitea ? { branch_filter: hook.branchFilter } : {}),
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
    const former = `${prefix}/repos/${held.formerName}/`;
    if (path.startsWith(former)) {
      // Gitea 1.23.8 names a path, and GitHub the address with the number of the repository.
      const rest = path.slice(former.length);
      const to = isGitea ? `${prefix}/repos/${held.name}/${rest}` : `${prefix}/repositories/1/${rest}`;
      const location = isGitea ? to : new URL(to, request.url).href;
      return new Response(null, { status: isGitea || method === "GET" ? 301 : 307, headers: { location } });
    }
    const at = itemIn(path, `${prefix}/repos/${held.name}`);
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
      hook.events = events ?? ["push"];
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
        if (events) Object.assign(hook, { events, sendsPushes: events.includes("push") });
        // Gitea, editHook: what the request leaves out becomes empty.
        hook.branchFilter = isText(body.branch_filter) ? body.branch_filter : "";
      } else if (method !== "GET") return notFound();
      return Response.json(shown(hook));
    }
    const isTaken = [...held.keys.values()].some(({ title }) => title === body.title);
    // Gitea 1.23.8; GitHub allows several keys of one title.
    if (isGitea && method === "POST" && isTaken) return invalid("A key with the same name already exists");
    return keysOf(method, at, body, held, body.read_only === true, shownKey);
  };
}
