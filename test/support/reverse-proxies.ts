import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Certificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { installPackages, ServiceUnavailable } from "./service-install.ts";
import { answers, launch, type RunningService, serviceFolder } from "./service-process.ts";

/** The path of a reverse proxy; each test starts it itself. */
export const findNginx = () => findProxy("nginx", "nginx-light", "SLIPWAY_TEST_NGINX");
export const findCaddy = () => findProxy("caddy", "caddy", "SLIPWAY_TEST_CADDY");

async function findProxy(name: string, packageName: string, variable: string): Promise<string> {
  const find = () => Bun.which(name) ?? [`/usr/sbin/${name}`].find((path) => existsSync(path));
  const found = find() ?? ((await installPackages(packageName)) ? find() : undefined);
  if (found) return found;
  throw new ServiceUnavailable(
    `${name} is not installed: install the package \`${packageName}\`, or set ${variable} to an executable.`,
  );
}

export interface ProxySetup {
  executable: string;
  /** host:port that the proxy passes requests on to. */
  upstream: string;
  /** Where it listens. */
  port: number;
}

const deployFolder = join(import.meta.dir, "../../deploy");

/** nginx with deploy/nginx.conf, on other ports and with a certificate of the test. */
export async function startShippedNginx(
  setup: ProxySetup,
  { certificate, key }: Certificate,
): Promise<RunningService> {
  const folder = serviceFolder("nginx");
  await Bun.write(join(folder, "certificate.pem"), certificate);
  await Bun.write(join(folder, "key.pem"), key);
  const example = (await Bun.file(join(deployFolder, "nginx.conf")).text())
    .replaceAll(/^ *listen \[::\].*$/gm, "")
    .replace("listen 80;", `listen 127.0.0.1:${freePort()};`)
    .replace("listen 443 ssl;", `listen ${setup.port} ssl;`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${folder}/certificate.pem;`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${folder}/key.pem;`)
    .replace("server 127.0.0.1:8080;", `server ${setup.upstream};`)
    .replaceAll("deploy.example.com", "localhost");
  return startNginx(setup, folder, example);
}

/** nginx as in most guides: only a proxy_pass. */
export function startPlainNginx(setup: ProxySetup): Promise<RunningService> {
  const server = `server { listen ${setup.port}; location / { proxy_pass http://${setup.upstream}; } }`;
  return startNginx(setup, serviceFolder("nginx"), server);
}

/** nginx with these server blocks; `-p folder -c folder/nginx.conf` names its configuration. */
export async function startNginx(
  setup: Pick<ProxySetup, "executable" | "port">,
  folder: string,
  servers: string,
): Promise<RunningService> {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const file = join(folder, "nginx.conf");
  await Bun.write(
    file,
    [
      // Its workers must be able to read the folder of the test.
      ...(process.getuid?.() === 0 ? ["user root;"] : []),
      `daemon off; pid ${folder}/nginx.pid; error_log stderr;`,
      `events {} http { access_log off; ${temporary.join(" ")}`,
      servers,
      "}",
    ].join("\n"),
  );
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

/** Caddy with deploy/Caddyfile, on another port and with a certificate of the test. */
export async function startShippedCaddy(
  setup: ProxySetup,
  { certificate, key }: Certificate,
): Promise<RunningService> {
  const folder = serviceFolder("caddy");
  await Bun.write(join(folder, "certificate.pem"), certificate);
  await Bun.write(join(folder, "key.pem"), key);
  const example = (await Bun.file(join(deployFolder, "Caddyfile")).text())
    .replace(
      /^deploy\.example\.com \{$/m,
      `https://localhost:${setup.port} {\n\ttls ${folder}/certificate.pem ${folder}/key.pem`,
    )
    .replace("reverse_proxy 127.0.0.1:8080", `reverse_proxy ${setup.upstream}`);
  const file = join(folder, "Caddyfile");
  await Bun.write(file, `{\n\tadmin off\n\tauto_https off\n}\n${example}`);
  return launch({
    name: "caddy",
    url: `https://localhost:${setup.port}`,
    folder,
    command: [setup.executable, "run", "--adapter", "caddyfile", "--config", file],
    env: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
    isReady: () => answers(setup.port, Buffer.from("GET / HTTP/1.0\r\n\r\n")),
  });
}
