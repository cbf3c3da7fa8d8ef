import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { inBuildQueue } from "./go-module.ts";
import { progress, run, ServiceUnavailable, serviceCache } from "./service-install.ts";
import { answers, launch, type RunningService, serviceFolder } from "./service-process.ts";

const version = "v2.10.1";
const programs = ["pebble", "pebble-challtestsrv"];

/** The folder with Pebble, an ACME authority for tests, built from the Go module proxy into the user's cache: once. */
export async function findPebble(): Promise<string> {
  const cache = serviceCache();
  const folder = join(cache, `pebble-${version}`);
  if (programs.every((name) => existsSync(join(folder, name)))) return folder;
  mkdirSync(folder, { recursive: true });
  progress(`building Pebble ${version} with go (a minute, once)`);
  const modules = programs.map((name) => `github.com/letsencrypt/pebble/v2/cmd/${name}@${version}`);
  const isBuilt =
    Bun.which("go") !== null &&
    (await inBuildQueue(() =>
      run(["go", "install", ...modules], { env: { GOBIN: folder, GOFLAGS: "-mod=mod" } }),
    ));
  if (!isBuilt)
    throw new ServiceUnavailable(
      "Pebble is not built: install Go, or set SLIPWAY_TEST_PEBBLE to its folder.",
    );
  return folder;
}

export interface Pebble {
  /** Address of its directory, and the file with the certificate of that address. */
  directory: string;
  roots: string;
  /** Certificate of the authority that it issues certificates with. */
  authority(): Promise<string>;
  stop(): Promise<void>;
}

/** A public authority for the names of a test, all of which lead to this machine. It asks the proxy on these ports. */
export async function startPebble(
  programsFolder: string,
  ports: { http: number; https: number },
): Promise<Pebble> {
  const folder = serviceFolder("pebble");
  const [listen, manage, dns, challenges] = [freePort(), freePort(), freePort(), freePort()];
  const { certificate, key } = await makeCertificate();
  const at = (name: string) => join(folder, name);
  writeFileSync(at("cert.pem"), certificate);
  writeFileSync(at("key.pem"), key);
  const config = {
    listenAddress: `127.0.0.1:${listen}`,
    managementListenAddress: `127.0.0.1:${manage}`,
    certificate: at("cert.pem"),
    privateKey: at("key.pem"),
    httpPort: ports.http,
    tlsPort: ports.https,
    ocspResponderURL: "",
    externalAccountBindingRequired: false,
    domainBlocklist: ["blocked.test"],
    retryAfter: { authz: 1, order: 1 },
    profiles: { default: { description: "default", validityPeriod: 7_776_000 } },
  };
  writeFileSync(at("pebble.json"), JSON.stringify({ pebble: config }));
  const names: RunningService = await launch({
    name: "pebble-challtestsrv",
    url: "",
    folder,
    command: [
      join(programsFolder, "pebble-challtestsrv"),
      ...["-dnsserver", `127.0.0.1:${dns}`, "-management", `127.0.0.1:${challenges}`, "-defaultIPv6", ""],
      ...["-defaultIPv4", "127.0.0.1", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""],
    ],
    isReady: () => answers(challenges, Buffer.from("GET / HTTP/1.0\r\n\r\n")),
  });
  const directory = `https://localhost:${listen}/dir`;
  const fetched = (url: string) => fetch(url, { tls: { ca: certificate }, keepalive: false });
  const pebble = await launch({
    name: "pebble",
    url: directory,
    folder,
    command: [join(programsFolder, "pebble"), "-config", at("pebble.json"), "-dnsserver", `127.0.0.1:${dns}`],
    env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "0" },
    isReady: async () => (await fetched(directory)).ok,
  });
  return {
    directory,
    roots: at("cert.pem"),
    authority: async () => (await fetched(`https://localhost:${manage}/roots/0`)).text(),
    async stop() {
      await pebble.stop();
      await names.stop();
    },
  };
}
