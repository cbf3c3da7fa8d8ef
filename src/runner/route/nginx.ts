import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newReason, type Reason } from "../../reason/reason.ts";
import { filesOf } from "./route-folder.ts";
import type { RouteProxy } from "./route-proxy.ts";
import { fileNameOf, type ServedRoute } from "./served-route.ts";

export interface NginxOptions {
  /** Folder of the route folders of all projects. */
  routes: string;
  /** Folder whose files nginx includes. */
  folder: string;
  /** Command that lets nginx read them again. */
  reload: string;
  port: number;
  /** File to which it writes a line for each request. */
  accessLog: string;
}

const reloadPatienceMs = 20_000;
/** A variable with a dollar sign, which nginx cannot escape. */
const dollar = "slipway_dollar";
const head = `# Written by the runner: changes are lost.
map $http_upgrade $slipway_connection { default upgrade; "" ""; }
geo $${dollar} { default "$"; }`;

/**
 * nginx as the proxy: a file that it includes, and a reload for each switch. Old workers keep their WebSockets; requests cannot
 * wait, and those of a service that does not serve get the page at once.
 */
export function openNginx({ routes, folder, reload, port, accessLog }: NginxOptions): RouteProxy {
  const file = join(folder, "slipway.conf");
  const pages = join(folder, "slipway-pages");
  let written: string | null = null;
  /** With its files, nginx opens its logs anew. */
  let isStale = false;

  function portOf(route: ServedRoute): string | null {
    const read = textOf(filesOf(routes, route.projectId, route).port) ?? "";
    return /^\d+$/.test(read) ? read : null;
  }

  function locations(route: ServedRoute): string[] {
    const page = `/slipway-${fileNameOf(route)}.html`;
    const at = portOf(route);
    const headers = Object.entries(route.headers).map(
      ([name, value]) => `    add_header ${name} ${quoted(value)} always;`,
    );
    const pass =
      at === null
        ? ["    return 503;"]
        : [
            `    proxy_pass http://127.0.0.1:${at};`,
            "    proxy_http_version 1.1;",
            "    proxy_set_header Host $host;",
            "    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            "    proxy_set_header X-Forwarded-Proto $scheme;",
            "    proxy_set_header Upgrade $http_upgrade;",
            "    proxy_set_header Connection $slipway_connection;",
          ];
    const log = `access_log ${quoted(accessLog)} ${formatOf(route)};`;
    const body = [...headers, `    ${log}`, ...pass, `    error_page 502 503 504 =503 ${page};`, "  }"].join(
      "\n",
    );
    const paths = route.path === "/" ? ["/"] : [`= ${route.path}`, `^~ ${route.path}/`];
    return [
      ...paths.map((path) => `  location ${path} {\n${body}`),
      `  location = ${page} { internal; root ${pages}; default_type text/html; add_header Retry-After 10 always; ${log} }`,
    ];
  }

  function render(all: ServedRoute[]): string {
    const domains = [...new Set(all.map(({ domain }) => domain))].toSorted();
    const servers = domains.map((domain) => {
      const own = all.filter((route) => route.domain === domain).flatMap(locations);
      return [`server {`, `  listen ${port};`, `  server_name ${domain};`, ...own, "}"].join("\n");
    });
    return [head, ...new Set(all.map(logFormat)), ...servers, ""].join("\n");
  }

  function writePages(all: ServedRoute[]): void {
    mkdirSync(pages, { recursive: true, mode: 0o755 });
    for (const route of all) {
      const page = textOf(filesOf(routes, route.projectId, route).page);
      if (page !== null) replace(join(pages, `slipway-${fileNameOf(route)}.html`), page);
    }
  }

  /** Null: nginx has read it. Otherwise the earlier file is there again. */
  async function write(all: ServedRoute[]): Promise<Reason | null> {
    const text = render(all);
    written ??= textOf(file);
    if (text === written && !isStale) return null;
    const earlier = written;
    writePages(all);
    replace(file, text);
    const found = await run(reload);
    if (found === null) {
      written = text;
      isStale = false;
      return null;
    }
    if (earlier === null) rmSync(file, { force: true });
    else replace(file, earlier);
    return newReason("nginx_refused", { command: reload, found: found.slice(0, 1000) });
  }

  return {
    name: "nginx",
    holds: false,
    // The file says which services serve.
    lookEveryMs: 1000,
    settleMs: 5000,
    refuses(all) {
      const secure = all.find(({ tls }) => tls !== "off");
      return secure === undefined ? null : newReason("nginx_no_tls", { domain: secure.domain });
    },
    apply: write,
    accessLog,
    reopen() {
      isStale = true;
    },
    stop: async () => {},
  };
}

const formatOf = ({ projectId, service }: ServedRoute) => `slipway-${projectId}-${service}`;

/** The fields of Caddy's log that are counted. One format for each service: a variable would not survive the way to its page. */
function logFormat(route: ServedRoute): string {
  const service = `"${route.projectId}/${route.service}"`;
  const line = `{"service":${service},"ts":$msec,"status":$status,"duration":$request_time}`;
  return `log_format ${formatOf(route)} '${line}';`;
}

/** Braces are not in the pattern of a header; a dollar would be a variable. */
function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, "\\$&").replaceAll("$", `\${${dollar}}`)}"`;
}

/** nginx reads it as another user. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o644 });
  renameSync(`${path}.new`, path);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Null: it succeeded; otherwise what it said. */
async function run(command: string): Promise<string | null> {
  const child = Bun.spawn(["sh", "-c", command], {
    stdout: "ignore",
    stderr: "pipe",
    timeout: reloadPatienceMs,
  });
  const said = await new Response(child.stderr).text();
  return (await child.exited) === 0 ? null : said.trim() || `it ended with ${child.exitCode}`;
}
