import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { ProxyName } from "../../model/service/route.ts";
import { placeText, type Route } from "../../model/service/route.ts";
import type { ServiceReport } from "../../model/service/service.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import { openFileCalls } from "../../system/file-calls.ts";
import { foldersIn } from "../workspace/folders.ts";
import { openAccessLog } from "./access-log.ts";
import { openCaddy } from "./caddy.ts";
import { accessLog, serverLog } from "./caddy-config.ts";
import { findCaddyProgram } from "./caddy-program.ts";
import { openNginx } from "./nginx.ts";
import { openRouteFaults } from "./route-faults.ts";
import { openRouteFolder, type ShownRoute } from "./route-folder.ts";
import type { RouteProxy } from "./route-proxy.ts";
import { isSamePlace, type ServedRoute } from "./served-route.ts";

/** Settings of the proxy. */
export interface ProxySettings {
  /** Undefined: Caddy, if there is one. */
  proxy: ProxyName | "none" | undefined;
  /** Admin address of a Caddy that is not the runner's: the path of a socket, or a URL. */
  caddy: string | undefined;
  caddyProgram: string | undefined;
  httpPort: number;
  httpsPort: number;
  acme: string;
  acmeEmail: string;
  acmeRoots: string;
  /** Folder of nginx whose files are included. */
  nginx: string | undefined;
  nginxReload: string;
}

export interface RoutesOptions extends ProxySettings {
  /** The folder of the runner. */
  root: string;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
  log: Logger;
}

const lookEveryMs = 10_000;
/** The name of a Unix socket has 107 bytes. */
const socketMaxLength = 107;

/** The routes of all projects on this runner, and the proxy that serves them. */
export type Routes = Awaited<ReturnType<typeof openRoutes>>;

export async function openRoutes(options: RoutesOptions) {
  const { log } = options;
  const root = join(options.root, "routes");
  const folder = join(options.root, "proxy");
  const chosen = await chooseProxy(options, root, folder);
  const proxy = "proxy" in chosen ? chosen.proxy : null;
  const note = "lack" in chosen ? chosen.lack : null;
  const access = proxy === null ? null : openAccessLog(proxy.accessLog, proxy.reopen);
  const faults = openRouteFaults({
    folder: proxy?.name === "caddy" ? folder : null,
    serverLog: join(folder, serverLog),
    ports: { http: options.httpPort, https: options.httpsPort },
  });
  /** Why the proxy does not serve all routes; null: it does. */
  let fault: Reason | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  /** One change of the proxy at a time. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  }

  const folderOf = (projectId: number) => openRouteFolder(root, projectId);

  const all = (): ServedRoute[] =>
    foldersIn(root)
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => folderOf(Number(name)).routes());

  /** The proxy serves what the folders say. */
  async function settle(): Promise<void> {
    if (proxy === null) return;
    fault = await proxy.apply(all());
    if (fault !== null) log.error({ fault: renderReason(fault) }, "the proxy does not serve all routes");
  }

  const settleSoon = () =>
    void inTurn(settle).catch((error: unknown) =>
      log.error({ error: messageOf(error) }, "the routes could not be served"),
    );

  const lookForFaults = () =>
    void faults
      .look(all())
      .catch((error: unknown) =>
        log.error({ error: messageOf(error) }, "what is wrong with routes could not be found out"),
      );

  const settling = setInterval(() => {
    if (all().length > 0) settleSoon();
  }, proxy?.lookEveryMs ?? lookEveryMs);
  const looking = setInterval(() => {
    access?.read();
    lookForFaults();
  }, lookEveryMs);
  settling.unref();
  looking.unref();

  return {
    proxy: proxy?.name ?? null,
    note,
    settleMs: () => proxy?.settleMs ?? 0,
    /** Lets the proxy serve these routes of a project, besides those that it serves now. Null: it does. */
    async admit(projectId: number, shown: ShownRoute[]): Promise<Reason | null> {
      if (shown.length === 0) return null;
      if (proxy === null) return note;
      const fresh = shown.map(({ route }) => route);
      return inTurn(async () => {
        const now = all();
        const taken = now.find(
          (other) => other.projectId !== projectId && fresh.some((route) => isSamePlace(route, other)),
        );
        if (taken !== undefined)
          return newReason("route_taken_here", { place: placeText(taken), project: taken.projectId });
        const earlier = now.filter((other) => !fresh.some((route) => isSamePlace(route, other)));
        return proxy.refuses(fresh) ?? (await proxy.apply([...earlier, ...fresh]));
      });
    },
    /** The switch: from now on these are the routes of the project. */
    show(projectId: number, shown: ShownRoute[]): void {
      const before = folderOf(projectId).routes();
      if (before.length === 0 && shown.length === 0) return;
      mkdirSync(root, { recursive: true, mode: 0o711 });
      folderOf(projectId).show(shown);
      if (
        !Bun.deepEquals(
          before,
          shown.map(({ route }) => route),
        ) ||
        proxy?.holds === false
      )
        settleSoon();
    },
    /** Null: this proxy cannot hold requests. */
    async pause(projectId: number): Promise<(() => Promise<void>) | null> {
      return proxy === null || !proxy.holds ? null : folderOf(projectId).pause();
    },
    report(
      projectId: number,
      { name, routes }: { name: string; routes: readonly Route[] },
    ): Pick<ServiceReport, "routes" | "requests"> {
      return {
        routes: routes.flatMap((route) => faults.report(route, fault)),
        requests: access?.unsent(`${projectId}/${name}`) ?? null,
      };
    },
    /** The server has these reports. */
    sent(reports: readonly ServiceReport[]): void {
      for (const { projectId, name, requests } of reports)
        if (requests !== null) access?.sent(`${projectId}/${name}`, requests);
    },
    /** At the start of the runner, after the routes of all projects are shown. */
    async resume(): Promise<void> {
      if (all().length === 0) return;
      await inTurn(settle);
      lookForFaults();
    },
    stop: async () => proxy?.stop(),
    close(): void {
      clearInterval(settling);
      clearInterval(looking);
    },
  };
}

async function chooseProxy(
  options: RoutesOptions,
  routes: string,
  folder: string,
): Promise<{ proxy: RouteProxy } | { lack: Reason }> {
  const { proxy, env: own, nginx } = options;
  if (proxy === "none") return { lack: newReason("proxy_none") };
  if (proxy === "nginx") {
    if (nginx === undefined) return { lack: newReason("nginx_folder_missing") };
    const log = join(folder, accessLog);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The runner creates the file: it could not truncate one that nginx has created.
    appendFileSync(log, "", { mode: 0o644 });
    const { nginxReload: reload, httpPort: port } = options;
    return { proxy: openNginx({ routes, folder: nginx, reload, port, accessLog: log }) };
  }
  const found =
    options.caddy === undefined ? findCaddyProgram(options.caddyProgram, own) : { address: options.caddy };
  if ("lack" in found) return found;
  if (join(folder, "admin").length > socketMaxLength)
    return { lack: newReason("proxy_folder_long", { folder }) };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { proxy: openCaddy({ ...options, routes, folder, run: found, calls: await openFileCalls(), own }) };
}
