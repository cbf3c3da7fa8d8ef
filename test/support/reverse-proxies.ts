import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Certificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { findExecutable } from "./service-install.ts";
import { answers, launch, type RunningService, serviceFolder } from "./service-process.ts";

/** The path of a reverse proxy; each test starts it itself. */
export const findNginx = () => findExecutable("nginx", "nginx-light", "SLIPWAY_TEST_NGINX");
export const findHaproxy = () => findExecutable("haproxy", "haproxy", "SLIPWAY_TEST_HAPROXY");

export interface ProxySetup {
  executable: string;
  /** host:port that the proxy passes requests on to. */
  upstream: string;
  /** Where it listens. */
  port: number;
}

const deployFolder = join(import.meta.dir, "../../deploy");

/** nginx with deploy/nginx.conf, on other ports and with a certificate of the test. */
export async function startShippedNginx(setup: ProxySetup, certificate: Certificate): Promise<ProxyWithLogs> {
  const folder = serviceFolder("nginx");
  const example = await localExample("nginx.conf", folder, setup.port, certificate);
  const servers = example.replace("server 127.0.0.1:8080;", `server ${setup.upstream};`);
  return withLogs(await startNginx(setup, folder, servers), folder);
}

export interface ClusterProxySetup {
  executable: string;
  /** host:port of the three gateways and of the deploy service. */
  gateways: string[];
  deploy: string;
  port: number;
  /** Where other services publish. */
  insidePort: number;
}

/** nginx with deploy/nginx-cluster.conf, on other addresses and with a certificate of the test. */
export async function startShippedClusterNginx(
  setup: ClusterProxySetup,
  certificate: Certificate,
): Promise<ProxyWithLogs> {
  const folder = serviceFolder("nginx");
  let servers = await localExample("nginx-cluster.conf", folder, setup.port, certificate);
  for (const [index, gateway] of setup.gateways.entries())
    servers = servers.replace(`server 10.0.0.1${index + 1}:8080`, `server ${gateway}`);
  servers = servers
    .replace("server 10.0.0.10:8080", `server ${setup.deploy}`)
    .replace("listen 10.0.0.5:8081", `listen 127.0.0.1:${setup.insidePort}`);
  return withLogs(await startNginx(setup, folder, servers), folder);
}

export interface ProxyWithLogs extends RunningService {
  /** What it wrote to its access and error logs. */
  logs(): Promise<string>;
}

function withLogs(proxy: RunningService, folder: string): ProxyWithLogs {
  const files = ["access.log", "error.log"].map((name) => join(folder, name));
  const logs = async () => {
    const texts = files.filter((file) => existsSync(file)).map((file) => Bun.file(file).text());
    return (await Promise.all(texts)).join("");
  };
  return Object.assign(proxy, { logs });
}

/** An nginx example of deploy/ with the ports, name and certificate of the test; it logs into the folder. */
async function localExample(
  name: string,
  folder: string,
  port: number,
  { certificate, key }: Certificate,
): Promise<string> {
  await Bun.write(join(folder, "certificate.pem"), certificate);
  await Bun.write(join(folder, "key.pem"), key);
  return (await Bun.file(join(deployFolder, name)).text())
    .replaceAll(/^ *listen \[::\].*$/gm, "")
    .replace("listen 80;", `listen 127.0.0.1:${freePort()};`)
    .replace("listen 443 ssl;", `listen ${port} ssl;`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${folder}/certificate.pem;`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${folder}/key.pem;`)
    .replaceAll("/var/log/nginx/", `${folder}/`)
    .replaceAll("deploy.example.com", "localhost");
}

/** nginx as in most guides: only a proxy_pass. */
export function startPlainNginx(setup: ProxySetup): Promise<RunningService> {
  const server = `server { listen ${setup.port}; location / { proxy_pass http://${setup.upstream}; } }`;
  return startNginx(setup, serviceFolder("nginx"), server);
}

export interface RefusingProxy extends RunningService {
  /** From now on upgrades pass; what is open stays open. */
  allowUpgrades(): Promise<void>;
}

/** nginx that passes no upgrade on, as in many company networks, until it is told to. */
export async function startRefusingNginx(setup: ProxySetup): Promise<RefusingProxy> {
  const folder = serviceFolder("nginx");
  const server = (rules: string) =>
    `server { listen ${setup.port}; location / { proxy_pass http://${setup.upstream}; ${rules} } }`;
  const proxy = await startNginx(setup, folder, server(""));
  const upgrades =
    'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';
  return Object.assign(proxy, {
    async allowUpgrades() {
      await writeNginxConfiguration(folder, server(upgrades));
      process.kill(proxy.pid, "SIGHUP");
    },
  });
}

/** nginx with these server blocks; `-p folder -c folder/nginx.conf` names its configuration. */
export async function startNginx(
  setup: Pick<ProxySetup, "executable" | "port">,
  folder: string,
  servers: string,
): Promise<RunningService> {
  const file = await writeNginxConfiguration(folder, servers);
  return launch({
    name: "nginx",
    url: `https://localhost:${setup.port}`,
    folder,
    command: [setup.executable, "-p", folder, "-c", file],
    // Only SIGTERM ends its workers too.
    stopSignal: "SIGTERM",
    isReady: () => answers(setup.port, Buffer.from("GET / HTTP/1.0\r\n\r\n")),
  });
}

async function writeNginxConfiguration(folder: string, servers: string): Promise<string> {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const file = join(folder, "nginx.conf");
  await Bun.write(
    file,
    [
      // Its workers must be able to read the folder of the test.
      ...(process.getuid?.() === 0 ? ["user root;"] : []),
      `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_rlimit_nofile 20000;`,
      `events { worker_connections 16000; } http { access_log off; ${temporary.join(" ")}`,
      servers,
      "}",
    ].join("\n"),
  );
  return file;
}

/** Caddy with deploy/Caddyfile, on another port and with a certificate of the test. */
export async function startShippedCaddy(
  setup: ProxySetup,
  { certificate, key }: Certificate,
): Promise<ProxyWithLogs> {
  const folder = serviceFolder("caddy");
  await Bun.write(join(folder, "certificate.pem"), certificate);
  await Bun.write(join(folder, "key.pem"), key);
  const example = (await Bun.file(join(deployFolder, "Caddyfile")).text())
    .replace(
      /^deploy\.example\.com \{$/m,
      `https://localhost:${setup.port} {\n\ttls ${folder}/certificate.pem ${folder}/key.pem`,
    )
    .replace(/^\{$/m, "{\n\tadmin off\n\tauto_https off")
    .replace("log default {", `log default {\n\t\toutput file ${folder}/error.log`)
    .replace("reverse_proxy 127.0.0.1:8080", `reverse_proxy ${setup.upstream}`);
  const file = join(folder, "Caddyfile");
  await Bun.write(file, example);
  const proxy = await launch({
    name: "caddy",
    url: `https://localhost:${setup.port}`,
    folder,
    command: [setup.executable, "run", "--adapter", "caddyfile", "--config", file],
    env: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
    isReady: () => answers(setup.port, Buffer.from("GET / HTTP/1.0\r\n\r\n")),
  });
  return withLogs(proxy, folder);
}

/** HAProxy with deploy/haproxy.cfg and one server behind it; public are TLS and a certificate of the test. */
export async function startShippedHaproxy(
  setup: ProxySetup,
  { certificate, key }: Certificate,
): Promise<ProxyWithLogs> {
  const folder = serviceFolder("haproxy");
  await Bun.write(join(folder, "site.pem"), certificate + key);
  const file = join(folder, "haproxy.cfg");
  const example = (await Bun.file(join(deployFolder, "haproxy.cfg")).text())
    .replace(/^ *bind "\$\{PUBLIC_BIND\}"$/m, "")
    .replace("# With a certificate: bind :443", `bind :${setup.port}`)
    .replace("/etc/haproxy/site.pem", `${folder}/site.pem`);
  await Bun.write(file, example);
  const { upstream } = setup;
  const url = `https://localhost:${setup.port}`;
  const proxy = await launch({
    name: "haproxy",
    url,
    folder,
    // It logs to standard output.
    command: ["sh", "-c", 'exec "$0" -db -f "$1" > "$2"', setup.executable, file, join(folder, "access.log")],
    env: { INSIDE_BIND: `127.0.0.1:${freePort()}`, PUSH_1: upstream, PUSH_2: upstream, DEPLOY: upstream },
    // It answers nothing but TLS.
    isReady: async () => (await fetch(url, { tls: { rejectUnauthorized: false } })).status > 0,
  });
  return withLogs(proxy, folder);
}
