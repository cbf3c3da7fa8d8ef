import { filesOf } from "./route-folder.ts";
import type { ServedRoute } from "./served-route.ts";

export interface CaddyConfigOptions {
  /** Folder of the route folders of all projects. */
  routes: string;
  /** Where Caddy keeps certificates and logs. */
  folder: string;
  /** Where the admin API listens, as Caddy writes it. `origins`: the hosts that requests may name; Caddy knows those of a port itself. */
  admin: { listen: string; origins?: string[] };
  httpPort: number;
  httpsPort: number;
  /** Directory of the authority; empty: Caddy's own choice. */
  acme: string;
  acmeEmail: string;
  /** A file with certificates of authorities that the authority's own address needs; empty: those of the machine. */
  acmeRoots: string;
}

/** How long a request waits for a service that is about to serve, and how often it looks. */
const patience = {
  try_duration: "30s",
  try_interval: "100ms",
  // Only what has not reached a service is sent again. Caddy would repeat a GET that has made its service crash.
  retry_match: [{ method: ["NONE"] }],
};
/** Shorter than the 5 s of Node: a request must not meet a connection that the service is about to close. */
const upstreamIdle = "3s";
/** A change of domains must not close what other projects have open. */
const streamsStay = "24h";
/** What a file has whose service does not run and is not about to. An empty or missing file: a request waits. */
export const nothingServes = "none";

export const accessLog = "access.log";
export const serverLog = "caddy.log";

type Json = string | number | boolean | Json[] | { [key: string]: Json };

/** The whole configuration of Caddy. No text of a user is in it but domains, paths and headers, whose patterns have no braces. */
export function caddyConfig(routes: ServedRoute[], options: CaddyConfigOptions): Json {
  // The longest path of a domain counts, and a name before a wildcard.
  const ordered = routes.toSorted(
    (one, other) =>
      Number(one.domain.startsWith("*")) - Number(other.domain.startsWith("*")) ||
      other.path.length - one.path.length ||
      (`${one.domain}${one.path}` < `${other.domain}${other.path}` ? -1 : 1),
  );
  const secure = ordered.filter(({ tls }) => tls !== "off");
  const plain = ordered.map((route) =>
    route.tls !== "off" && route.redirect ? redirect(route, options) : serve(route, options),
  );
  const shared = {
    routes: [] as Json[],
    protocols: ["h1", "h2"],
    read_header_timeout: "30s",
    logs: { default_logger_name: "access" },
  };
  const servers: Record<string, Json> = {};
  if (ordered.length > 0)
    servers.http = {
      ...shared,
      listen: [`:${options.httpPort}`],
      automatic_https: { disable: true },
      routes: [...plain, unknownPlace],
    };
  if (secure.length > 0)
    servers.https = {
      ...shared,
      listen: [`:${options.httpsPort}`],
      automatic_https: { disable_redirects: true },
      routes: [...secure.map((route) => serve(route, options)), unknownPlace],
    };
  return {
    admin: { ...options.admin, config: { persist: false } },
    storage: { module: "file_system", root: `${options.folder}/data` },
    logging: logging(options.folder),
    apps: {
      http: { http_port: options.httpPort, https_port: options.httpsPort, servers },
      tls: { automation: { policies: policies(secure, options) } },
      pki: { certificate_authorities: { local: { install_trust: false } } },
    },
  };
}

function matchOf({ domain, path }: ServedRoute): Json[] {
  return [{ host: [domain], ...(path === "/" ? {} : { path: [path, `${path}/*`] }) }];
}

function redirect(route: ServedRoute, { httpsPort }: CaddyConfigOptions): Json {
  const port = httpsPort === 443 ? "" : `:${httpsPort}`;
  const location = `https://{http.request.host}${port}{http.request.uri}`;
  return {
    match: matchOf(route),
    handle: [{ handler: "static_response", status_code: 308, headers: { Location: [location] } }],
    terminal: true,
  };
}

function serve(route: ServedRoute, { routes }: CaddyConfigOptions): Json {
  const { projectId, service, headers } = route;
  const files = filesOf(routes, projectId, route);
  const port = `{file.${files.port}}`;
  const set = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  const page = {
    handler: "static_response",
    status_code: 503,
    headers: {
      "Content-Type": ["text/html; charset=utf-8"],
      "Retry-After": ["10"],
      "Cache-Control": ["no-store"],
    },
    body: `{file.${files.page}}`,
  };
  const proxy = {
    handler: "reverse_proxy",
    // Read again at each try.
    upstreams: [{ dial: `127.0.0.1:${port}` }],
    load_balancing: patience,
    transport: { protocol: "http", keep_alive: { idle_timeout: upstreamIdle } },
    stream_close_delay: streamsStay,
  };
  return {
    match: matchOf(route),
    handle: [
      { handler: "log_append", key: "service", value: `${projectId}/${service}` },
      ...(Object.keys(set).length === 0 ? [] : [{ handler: "headers", response: { set, deferred: true } }]),
      {
        handler: "subroute",
        routes: [{ match: [{ vars: { [port]: [nothingServes] } }], handle: [page] }, { handle: [proxy] }],
        errors: { routes: [{ handle: [page] }] },
      },
    ],
    terminal: true,
  };
}

/** Caddy itself would answer with an empty 200. */
const unknownPlace: Json = {
  handle: [{ handler: "static_response", status_code: 404, body: "There is no route for this address.\n" }],
};

function policies(secure: ServedRoute[], { acme, acmeEmail, acmeRoots }: CaddyConfigOptions): Json[] {
  const subjects = (tls: ServedRoute["tls"]) =>
    [...new Set(secure.filter((route) => route.tls === tls).map(({ domain }) => domain))].toSorted();
  const authority = {
    module: "acme",
    ...(acme === "" ? {} : { ca: acme }),
    ...(acmeEmail === "" ? {} : { email: acmeEmail }),
    ...(acmeRoots === "" ? {} : { trusted_roots_pem_files: [acmeRoots] }),
  };
  return [
    { subjects: subjects("internal"), issuers: [{ module: "internal" }] as Json[] },
    { subjects: subjects("auto"), issuers: [authority] as Json[] },
  ].filter((policy) => policy.subjects.length > 0);
}

function logging(folder: string): Json {
  const file = (name: string) => ({
    output: "file",
    filename: `${folder}/${name}`,
    roll_size_mb: 20,
    roll_keep: 2,
    roll_gzip: false,
  });
  const unused = ["request>headers", "request>tls", "resp_headers", "user_id"];
  return {
    logs: {
      default: { writer: file(serverLog), level: "INFO", exclude: ["http.log.access"] },
      access: {
        include: ["http.log.access.access"],
        writer: file(accessLog),
        encoder: {
          format: "filter",
          wrap: { format: "json" },
          fields: Object.fromEntries(unused.map((name) => [name, { filter: "delete" }])),
        },
      },
    },
  };
}
